"""Bags of the events of services and actions, as service introspection publishes them."""

from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from unique_identifier_msgs.msg import UUID

from robot_cell_planner.action import PlanMotion
from robot_cell_planner.nodes.recording.bag import Bag
from robot_cell_planner.nodes.recording.recorder import class_of

PLAN = "robot_cell_planner/action/PlanMotion"


class Record:
    """A bag of service events."""

    def __init__(self, folder):
        self.bag, self.topics, self.number, self.time = Bag(folder, {}), {}, 0, 10**18

    def add(self, name, event_type, request=None, response=None):
        """Add the events of a request, and of its reply if there is one."""
        if name not in self.topics:
            self.topics[name] = self.bag.add(f"/{name}/_service_event", event_type, [QoSProfile(depth=1)])
        self.number += 1
        for kind, requests, responses in ((1, [request], []), (2, [], [response])):
            if kind == 1 or response is not None:
                event = class_of(event_type)(request=requests, response=responses)
                event.info.event_type, event.info.sequence_number = kind, self.number
                self.time += 1000
                self.bag.write(self.topics[name], self.time, serialize_message(event))

    def goal(self, number, answered):
        """Add a goal that is accepted, and the reply to the request of its result if there is one."""
        service = PlanMotion.Impl.SendGoalService
        identity = UUID(uuid=[number] * 16)
        accepted = service.Response(accepted=True)
        self.add("p/_action/send_goal", f"{PLAN}_SendGoal_Event", service.Request(goal_id=identity), accepted)
        if answered:
            service = PlanMotion.Impl.GetResultService
            request = service.Request(goal_id=identity)
            self.add("p/_action/get_result", f"{PLAN}_GetResult_Event", request, service.Response())
