"""Every frame has the same pose in the engine and in the cell, for all kinds of attachments."""

from itertools import pairwise

import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import body, box, cell_of_bodies, gripper, joint, link, mechanism, pendulums, workshop

from robot_cell_planner.errors import LimitExceededError
from robot_cell_planner.model.bodies import NamedFrame, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Cone, Shape
from robot_cell_planner.model.mechanism import JointKind, Link, Mimic
from robot_cell_planner.model.placement import Placements, placements
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState, ToolState
from robot_cell_planner.simulation.engines.names import BULLET, ENGINES, MUJOCO
from robot_cell_planner.simulation.engines.selection import make_engine
from robot_cell_planner.simulation.multibody.multibodies import Multibodies
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.system.physics import MAX_LINKS

AT_ONCE = SimulationOptions(settle_time=0.0)


def assemble(cell, state, engine=BULLET):
    cell.check_state(state)
    multibodies = Multibodies(cell, state)
    return multibodies, make_engine(engine, multibodies, AT_ONCE)


def check_frames(cell, state):
    """Every frame of the cell has its pose in each engine."""
    for kind in ENGINES:
        multibodies, engine = assemble(cell, state, kind)
        world = Placements(placements(cell, state))
        for name, place in multibodies.frames.items():
            distance, angle = engine.pose(place).distance_to(world.world(name))
            assert distance < 1e-6, (kind, name)
            assert angle < 1e-5, (kind, name)
        engine.close()
    return multibodies


def odd_pose(generator):
    return Pose.from_rpy(generator.uniform(-0.5, 0.5, 3), generator.uniform(-3.0, 3.0, 3))


@pytest.mark.parametrize("seed", range(3))
def test_all_kinds_of_joints(seed):
    generator = np.random.default_rng(seed)

    def axis():
        vector = generator.normal(size=3)
        return tuple((vector / np.linalg.norm(vector)).tolist())

    kinds = [*JointKind, JointKind.REVOLUTE]
    joints = [
        joint(f"j{i}", kind, f"l{i}" if i else "base", f"l{i + 1}", axis(), origin=odd_pose(generator))
        for i, kind in enumerate(kinds)
    ]
    mimic = Mimic("j1", -0.5, 0.3)
    joints.append(joint("follower", JointKind.PRISMATIC, "l2", "m", axis(), origin=odd_pose(generator), mimic=mimic))
    links = [
        Link(item.child, collisions=(box(0.1, 0.2, 0.3, odd_pose(generator)),), inertial=link("x", mass=1.0).inertial)
        for item in joints
    ]
    cell, state = pendulums(*joints, links=links)
    values = {name: float(generator.uniform(-1.0, 1.0)) for name in state.configuration}
    check_frames(cell, state.with_configuration(values))


def test_tools_and_bodies_move_with_their_parents():
    generator = np.random.default_rng(5)
    cell, state = workshop()
    masses = {"camera": 0.2, "mark": None, "lid": 0.1}
    bodies = {name: body(name, [box(0.02, 0.03, 0.04)], mass) for name, mass in masses.items()}
    carriers = {"mount": "flange", "spot": "table"}
    frames = {name: NamedFrame(name, carrier, odd_pose(generator)) for name, carrier in carriers.items()}
    cell = RobotCell("more", cell.robots, cell.tools, frozendict({**cell.bodies, **bodies}), frozendict(frames))
    state = state.with_configuration({"x": 0.2, "y": -0.1, "z": 0.15, "turn": 1.0})
    for name, carrier in (("camera", "mount"), ("mark", "camera"), ("lid", "spot")):
        state = state.with_body(name, BodyState(odd_pose(generator), carrier))
    multibodies = check_frames(cell, state)
    descendants = {
        name: multibodies.items[multibodies.frames[name].multibody].name for name in (*bodies, "gripper/tcp")
    }
    # A body with a mass that is attached to a static object lies there, free to move.
    assert descendants == {"camera": "gantry", "mark": "gantry", "lid": "lid", "gripper/tcp": "gantry"}
    assert not multibodies.items[multibodies.frames["lid"].multibody].fixed


def test_bodies_on_a_free_body_move_with_it():
    cell, state = cell_of_bodies(body("tray", [box(0.3, 0.3, 0.01)], 1.0), body("cup", [box(0.05, 0.05, 0.1)], 0.1))
    tilted = Pose.from_rpy((0.0, 0.1, 0.5), (0.1, 0.2, 0.3))
    state = state.with_body("tray", BodyState(tilted)).with_body("cup", BodyState(Pose((0.1, 0.0, 0.06)), "tray"))
    multibodies = check_frames(cell, state)
    assert [(item.name, item.fixed, len(item.parts)) for item in multibodies.items] == [("tray", False, 2)]
    assert multibodies.items[0].parts[1].mass_properties.mass == pytest.approx(0.1)


def test_hidden_objects_have_no_shapes_but_remain_parents():
    cell, state = workshop()
    hidden = ToolState(attached_to="gantry", configuration=frozendict({"finger": 0.04}), hidden=True)
    state = state.with_tool("gripper", hidden)
    state = state.with_body("workpiece", BodyState(Pose((0.0, 0.0, 0.1)), "gripper", hidden=False))
    state = state.with_body("post", BodyState(hidden=True))
    multibodies, engine = assemble(cell, state)
    engine.close()
    owners = {part.object_name for item in multibodies.items for part in item.parts}
    assert "post" not in owners
    assert not any(owner.startswith("gripper") for owner in owners)
    assert multibodies.items[multibodies.frames["workpiece"].multibody].name == "gantry"


def test_a_free_tool_keeps_its_pose():
    tool = gripper()
    cell = RobotCell("rack", tools=frozendict({"gripper": tool}))
    pose = Pose.from_rpy((1.0, 2.0, 3.0), (0.5, 0.0, 0.0))
    state = cell.default_state().with_tool("gripper", ToolState(pose, configuration=frozendict({"finger": 0.02})))
    multibodies = check_frames(cell, state)
    assert [(item.name, item.fixed) for item in multibodies.items] == [("gripper", True)]


def test_more_links_than_the_engine_supports_are_refused_with_the_name():
    names = ["base", *(f"l{i}" for i in range(MAX_LINKS))]
    joints = [
        joint(f"j{i}", JointKind.REVOLUTE, parent, child, (1.0, 0.0, 0.0))
        for i, (parent, child) in enumerate(pairwise(names))
    ]
    cell, state = pendulums(*joints)
    with pytest.raises(
        LimitExceededError, match=r'pendulum with .* too many links .* Simulate with engine "mujoco"'
    ) as caught:
        assemble(cell, state)
    assert caught.value.values[0].limit == MAX_LINKS
    assemble(cell, state, MUJOCO)[1].close()


def test_the_objects_with_most_pieces_are_named_where_a_tool_is_one_too_many():
    cones = [Shape(Cone(0.01, 0.02), Pose((0.05 * i, 0.0, 0.0))) for i in range(MAX_LINKS)]
    brush = Tool("brush", mechanism("brush", [Link("handle", collisions=tuple(cones))], []))
    hinge = joint("j", JointKind.REVOLUTE, "base", "tip", (0.0, 0.0, 1.0))
    arm = Robot("arm", mechanism("arm", [Link("base"), link("tip", mass=1.0)], [hinge]),
                frozendict(arm=PlanningGroup("arm", ("j",), base_link="base", tip_link="tip")))  # fmt: skip
    cell = RobotCell("c", frozendict(arm=arm), frozendict(brush=brush))
    attached = cell.default_state().with_tool("brush", ToolState(attached_to="arm"))
    with pytest.raises(LimitExceededError, match=rf"\(brush/handle {MAX_LINKS}\).*`mesh_uses`.*mujoco") as caught:
        assemble(cell, attached)
    assert caught.value.values[0].value == MAX_LINKS + 2


def test_more_shapes_than_the_engine_joins_are_supported():
    many = [box(0.01, 0.01, 0.01, Pose((0.02 * i, 0.0, 0.0))) for i in range(40)]
    cell, state = cell_of_bodies(body("comb", many), body("loose comb", many, 1.0))
    multibodies, engine = assemble(cell, state)
    engine.close()
    for name in ("comb", "loose comb"):
        found = [len(part.geometries) for item in multibodies.items for part in item.parts if part.object_name == name]
        assert found == [16, 16, 8]


def test_two_tools_of_one_kind_are_distinguished():
    arms = {}
    for name in ("left", "right"):
        base, tip = f"{name}_base", f"{name}_tip"
        hinge = joint(f"{name}_hinge", JointKind.REVOLUTE, base, tip, (0.0, 0.0, 1.0))
        links = [Link(base), link(tip, mass=1.0)]
        group = PlanningGroup(name, (hinge.name,), base_link=base, tip_link=tip)
        arms[name] = Robot(name, mechanism(name, links, [hinge]), frozendict({name: group}))
    tools = {f"{name}_gripper": Tool(f"{name}_gripper", gripper().mechanism) for name in arms}
    cell = RobotCell("two", frozendict(arms), frozendict(tools))
    state = cell.default_state()
    for name in arms:
        placed = ToolState(attached_to=name, configuration=frozendict({"finger": 0.01}))
        state = state.with_tool(f"{name}_gripper", placed)
    multibodies = check_frames(cell, state)
    assert [item.name for item in multibodies.joints] == [
        "left_hinge", "left_gripper/finger", "left_gripper/finger_2",
        "right_hinge", "right_gripper/finger", "right_gripper/finger_2",
    ]  # fmt: skip
