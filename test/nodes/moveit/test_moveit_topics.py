"""MoveIt's topics and parameters, as panels and clients of MoveIt use them."""

import itertools
import threading

import pytest
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    DisplayTrajectory,
    MotionPlanRequest,
    PlannerParams,
    PlanningScene,
    PlanningSceneComponents,
    PlanningSceneWorld,
)
from moveit_msgs.srv import GetMotionPlan, GetPlannerParams, GetPlanningScene, SetPlannerParams
from moveit_requests import JOINTS, LEFT, RIGHT, box, joint_goal, robot_state, service_caller
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter
from running import DEMO, wait_for_message

from robot_cell_planner.nodes.common.node import LATCHED, reliable


@pytest.fixture(scope="module", autouse=True)
def nodes(start_node, client):
    for name in ("scene_node", "planning_node", "moveit_adapter_node"):
        start_node(name, **({"cell_file": DEMO} if name == "scene_node" else {}))
    client.scene()


@pytest.fixture(scope="module")
def call(client):
    return service_caller(client)


@pytest.fixture(scope="module")
def publish(client):
    """Publish a message once the adapter has found the publisher."""
    publishers = {}

    def publish(message, topic):
        if topic not in publishers:
            publishers[topic] = client._made(lambda: client.node.create_publisher(type(message), topic, reliable(10)))
        while not publishers[topic].get_subscription_count():
            threading.Event().wait(0.02)
        publishers[topic].publish(message)

    return publish


def planning_scene(call):
    request = GetPlanningScene.Request()
    request.components.components = PlanningSceneComponents.WORLD_OBJECT_GEOMETRY | PlanningSceneComponents.ROBOT_STATE
    request.components.components |= PlanningSceneComponents.ROBOT_STATE_ATTACHED_OBJECTS
    return call(GetPlanningScene, "get_planning_scene", request).scene


def names(scene):
    return {item.id for item in scene.world.collision_objects}


def held(scene):
    return {item.object.id: item.link_name for item in scene.robot_state.attached_collision_objects}


def monitored(client, condition):
    """The first monitored scene that fulfils a condition."""
    return wait_for_message(client, PlanningScene, "monitored_planning_scene", LATCHED, condition)


def test_each_message_of_an_object_is_one_revision(client, publish):
    before = client.scene()[1]
    publish(box("crate"), "collision_object")
    monitored(client, lambda scene: "crate" in names(scene))
    assert client.scene()[1] == before + 1
    moved = CollisionObject(id="crate", operation=CollisionObject.MOVE)
    moved.header.frame_id, moved.pose.position.z, moved.pose.position.y = "world", 1.4, -0.6
    publish(moved, "collision_object")
    scene = monitored(client, lambda scene: any(o.id == "crate" and o.pose.position.z == 1.4 for o in objects(scene)))
    assert not scene.is_diff
    assert client.scene()[1] == before + 2
    publish(CollisionObject(id="crate", operation=CollisionObject.REMOVE), "collision_object")
    monitored(client, lambda scene: not scene.is_diff and "crate" not in names(scene))
    assert client.scene()[1] == before + 3


def objects(scene):
    return scene.world.collision_objects


def test_an_object_is_attached_and_detached(client, call, publish):
    attached = AttachedCollisionObject(link_name="tool0", object=box("part"), touch_links=["wrist_3_link"])
    publish(attached, "attached_collision_object")
    monitored(client, lambda scene: "part" in held(scene))
    assert held(planning_scene(call))["part"] == "tool0"
    assert client.scene()[0].state.bodies["part"].touch_links == ("wrist_3_link",)
    detached = AttachedCollisionObject(object=CollisionObject(id="part", operation=CollisionObject.REMOVE))
    publish(detached, "attached_collision_object")
    scene = monitored(client, lambda scene: "part" in names(scene) and "part" not in held(scene))
    assert not scene.is_diff
    publish(CollisionObject(id="part", operation=CollisionObject.REMOVE), "collision_object")
    monitored(client, lambda scene: not scene.is_diff and "part" not in names(scene))


def test_a_difference_of_the_scene_is_applied_as_a_whole(client, publish):
    before = client.scene()[1]
    difference = PlanningScene(is_diff=True)
    difference.robot_state.is_diff = True
    difference.world.collision_objects = [
        box("one"),
        CollisionObject(id="nothing", operation=CollisionObject.REMOVE),
    ]
    publish(difference, "planning_scene")  # refused: one of its objects does not exist
    difference.world.collision_objects = [box("two"), box("three", x=0.6)]
    publish(difference, "planning_scene")
    scene = monitored(client, lambda scene: "two" in names(scene))
    assert "three" in names(scene)
    assert "one" not in names(scene)
    assert client.scene()[1] == before + 1


def test_a_world_replaces_all_objects(client, call, publish):
    world = PlanningSceneWorld(collision_objects=[item for item in objects(planning_scene(call)) if item.id != "two"])
    assert "three" in {item.id for item in world.collision_objects}
    before = held(planning_scene(call))
    publish(world, "planning_scene_world")
    scene = monitored(client, lambda scene: not scene.is_diff and "two" not in names(scene))
    assert "three" in names(scene)
    assert held(scene) == before


def test_a_plan_is_displayed(client, call):
    seen = []
    subscription = client._made(
        lambda: client.node.create_subscription(DisplayTrajectory, "display_planned_path", seen.append, LATCHED)
    )
    while not client.node.count_publishers("display_planned_path"):
        threading.Event().wait(0.02)
    request = MotionPlanRequest(start_state=robot_state(LEFT), goal_constraints=[joint_goal(RIGHT)])
    found = None
    for _ in range(5):  # the adapter may not have found the subscription at the first plan
        reply = call(GetMotionPlan, "plan_kinematic_path", GetMotionPlan.Request(motion_plan_request=request))
        found = reply.motion_plan_response.trajectory.joint_trajectory
        if seen:
            break
    client.node.destroy_subscription(subscription)
    (shown,) = seen[-1].trajectory
    assert shown.joint_trajectory == found
    start = dict(
        zip(seen[-1].trajectory_start.joint_state.name, seen[-1].trajectory_start.joint_state.position, strict=True)
    )
    assert [start[name] for name in JOINTS] == LEFT


def test_planner_parameters_are_those_that_were_set(call):
    def get(group):
        request = GetPlannerParams.Request(pipeline_id="ompl", planner_config="RRTConnect", group=group)
        return dict(zip(*_lists(call(GetPlannerParams, "get_planner_params", request).params), strict=True))

    def put(values, **fields):
        request = SetPlannerParams.Request(pipeline_id="ompl", planner_config="RRTConnect", **fields)
        request.params = PlannerParams(keys=list(values), values=list(values.values()))
        call(SetPlannerParams, "set_planner_params", request)

    default = get("")["range"]
    put({"range": "0.5"}, replace=True)
    put({"range": "0.25"}, group="manipulator")
    put({"no_parameter": "1"}, group="manipulator")  # refused; the log has the reason
    assert get("manipulator")["range"] == "0.25"
    assert get("")["range"] == "0.5"
    put({}, replace=True)
    put({}, group="manipulator", replace=True)
    assert get("manipulator")["range"] == default


def _lists(params):
    return list(params.keys), list(params.values)


def test_descriptions_are_parameters_that_clients_cannot_set(call):
    requested = ["robot_description", "robot_description_semantic", "planning_pipelines", "default_planning_pipeline"]
    requested += ["robot_description_kinematics.manipulator.kinematics_solver"]
    requested += [f"robot_description_planning.joint_limits.{JOINTS[0]}.max_velocity"]
    request = GetParameters.Request(names=requested)
    values = call(GetParameters, "moveit_adapter_node/get_parameters", request).values
    found = [value.string_value or list(value.string_array_value) or value.double_value for value in values]
    assert "<robot" in found[0]
    assert "<group" in found[1]
    assert found[2] == ["ompl", "pilz_industrial_motion_planner"]
    assert found[3] == "ompl"
    assert all(found[4:])
    change = Parameter("robot_description", value="<robot/>").to_parameter_msg()
    (result,) = call(
        SetParameters, "moveit_adapter_node/set_parameters", SetParameters.Request(parameters=[change])
    ).results
    assert not result.successful
    assert "robot_description" in result.reason


def test_messages_are_applied_in_their_order(client, publish):
    before = client.scene()[1]
    for _, name in itertools.product(range(5), ("first", "second")):
        publish(box(name), "collision_object")
        publish(CollisionObject(id=name, operation=CollisionObject.REMOVE), "collision_object")
    publish(box("last"), "collision_object")
    scene = monitored(client, lambda scene: "last" in names(scene))
    assert not {"first", "second"} & names(scene)
    assert client.scene()[1] == before + 21
