"""Messages and calls of MoveIt's clients, for the demo cell."""

import threading

from geometry_msgs.msg import Pose
from loaded_cells import loaded
from moveit_msgs.msg import (
    CollisionObject,
    Constraints,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
    RobotState,
)
from shape_msgs.msg import SolidPrimitive

from robot_cell_planner.nodes.conversions.basic import pose_to_message

CELL, STATE = loaded()
JOINTS = CELL.group().variables
LEFT = [-0.6, -1.2, 1.9, -2.2708, -1.5708, 0.0]
RIGHT = [0.9, -1.2, 1.9, -2.2708, -1.5708, 0.0]


def service_caller(client):
    """A function that calls a service: of a type, by its name, with a request."""
    clients = {}

    def call(kind, name, request):
        if name not in clients:
            clients[name] = client.node.create_client(kind, name)
        assert clients[name].wait_for_service(60.0), name
        done = threading.Event()
        future = clients[name].call_async(request)
        future.add_done_callback(lambda _: done.set())
        assert done.wait(240.0), name
        return future.result()

    return call


def robot_state(row):
    state = RobotState()
    state.joint_state.name, state.joint_state.position = list(JOINTS), list(row)
    return state


def joint_goal(row, tolerance=0.001):
    entries = zip(JOINTS, row, strict=True)
    return Constraints(
        joint_constraints=[
            JointConstraint(joint_name=name, position=value, tolerance_above=tolerance, tolerance_below=tolerance)
            for name, value in entries
        ]
    )


def pose_goal(pose, link="tool0", tolerance=0.001):
    message = pose_to_message(pose)
    position = PositionConstraint(link_name=link, weight=1.0)
    position.header.frame_id = "world"
    position.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[tolerance])]
    position.constraint_region.primitive_poses = [Pose(position=message.position)]
    rotation = OrientationConstraint(link_name=link, orientation=message.orientation, weight=1.0)
    rotation.header.frame_id = "world"
    for axis in "xyz":
        setattr(rotation, f"absolute_{axis}_axis_tolerance", tolerance)
    return Constraints(position_constraints=[position], orientation_constraints=[rotation])


def box(name, x=0.4, y=-0.6, z=1.2, size=0.1):
    item = CollisionObject(id=name, operation=CollisionObject.ADD)
    item.header.frame_id = "world"
    item.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[size] * 3)]
    item.pose.position.x, item.pose.position.y, item.pose.position.z = x, y, z
    return item
