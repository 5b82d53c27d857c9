"""The safety layer certifies actions for the simulation of an episode: its state, moving fingers, and free bodies."""

import numpy as np
import pytest
from frozendict import frozendict
from msgspec.structs import replace

from robot_cell_planner.collision.certification.certifier import MotionCertifier
from robot_cell_planner.environments import CellEnvironment, EnvironmentOptions, Reach, Region, SafetyLayer
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.model.bodies import RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.mechanism import Inertial
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import PlanningGroup, Robot
from robot_cell_planner.model.state import BodyState

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
SLIDE = f"""<robot name="slide"><link name="base"/><link name="cube"><inertial><mass value="1"/>{INERTIA}</inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="cube"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1" velocity="1" effort="500"/></joint></robot>"""
HAND = f"""<robot name="hand"><link name="palm"><inertial><mass value="0.1"/>{INERTIA}</inertial></link>
<link name="finger"><inertial><mass value="0.1"/>{INERTIA}</inertial>
<collision><geometry><box size="0.04 0.04 0.04"/></geometry></collision></link>
<joint name="open" type="prismatic"><parent link="palm"/><child link="finger"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0.3" velocity="1" effort="100"/></joint></robot>"""
MASS = Inertial(0.5, inertia=(1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3))
ASIDE, IN_THE_WAY = Pose((0.3, 0.35, 0.0)), Pose((0.3, 0.0, 0.0))


def cell_and_state(hand=False, hand_text=HAND):
    """A cube that slides along x, a wall beside its path, and a hand whose finger opens along y."""
    group = PlanningGroup("x", ("x",), (), "base", "cube")
    robot = Robot("slide", read_urdf(SLIDE), groups=frozendict(x=group))
    tools = frozendict(hand=Tool("hand", read_urdf(hand_text))) if hand else frozendict()
    wall = RigidBody("wall", (Shape(Box((0.02, 0.2, 0.3))),))
    cell = RobotCell(robots=frozendict(slide=robot), tools=tools, bodies=frozendict(wall=wall))
    state = cell.default_state().with_body("wall", BodyState(ASIDE))
    if hand:
        state = state.with_tool("hand", replace(state.tools["hand"], attached_to="x", touch_links=("cube",)))
    return cell, state


class WallAt(Reach):
    """A task that places the wall at the start of an episode."""

    wall = IN_THE_WAY

    def start(self, state, random):
        return state.with_body("wall", replace(state.bodies["wall"], pose=self.wall))


def environment(cell, state, task=Reach, **options):
    frame = "hand/tcp" if "hand" in cell.tools else "cube"
    there = Region((0.5, 0.0, 0.0), (0.5, 0.0, 0.0))
    task = task(frame, there, start_spread=0.0)
    return CellEnvironment(cell, state, task, EnvironmentOptions(safety_layer=True, period=0.2, **options))


def pushed(env, steps=12):
    """Results of steps forward: whether there was a contact, the scales of the actions, and the end position."""
    env.reset(seed=0)
    touched, scales = False, []
    for _ in range(steps):
        action = np.ones(env.action_space.shape, dtype=np.float32)
        *_, info = env.step(action)
        touched |= bool(info["contacts"])
        scales.append(info["action_scale"])
    end = env.simulated.state().configuration["x"]
    env.close()
    return touched, scales, end


def test_actions_stop_at_obstacles_placed_by_an_episode():
    touched, scales, end = pushed(environment(*cell_and_state(), task=WallAt))
    assert not touched
    assert scales[-1] == 0.0
    assert 0.2 < end < 0.3 - 0.01 - 0.05


def test_actions_pass_if_an_episode_removes_an_obstacle():
    cell, state = cell_and_state()

    class Away(WallAt):
        wall = ASIDE

    touched, scales, end = pushed(environment(cell, state.with_body("wall", BodyState(IN_THE_WAY)), task=Away))
    assert not touched
    assert min(scales) == 1.0
    assert end > 0.3


@pytest.mark.parametrize("opening", [1.0, -1.0])
def test_fingers_that_open_and_close_during_a_motion_touch_nothing(opening):
    """Open, the finger would hit the wall; closed, the hand would pass beside it, but may be opened there."""
    env = environment(*cell_and_state(hand=True), gripper="hand")
    env.reset(seed=0)
    for step in range(20):
        action = np.array((1.0, opening if step % 4 < 2 else -opening), dtype=np.float32)
        *_, info = env.step(action)
        assert not info["contacts"]
    assert 0.2 < env.simulated.state().configuration["x"] < 0.3
    env.close()


def test_a_certified_motion_is_free_for_every_opening():
    """The finger reaches y = 0.32, and the wall begins at 0.25: only positions up to x = 0.3 - 0.01 - 0.05 are free."""
    cell, state = cell_and_state(hand=True)
    layer = SafetyLayer(cell, state, ("x",), 0.002, "hand")
    for end, free in ((0.2, True), (0.26, True), (0.275, False), (0.5, False)):
        assert layer.is_free(np.zeros(1), np.array((end,))) == free
    past = state.with_body("wall", BodyState(Pose((0.3, 0.45, 0.0))))
    assert SafetyLayer(cell, past, ("x",), 0.002, "hand").is_free(np.zeros(1), np.array((0.5,)))


@pytest.mark.parametrize("spheres", [True, False])
@pytest.mark.parametrize(("start", "end"), [(0.0, 0.5), (0.25, 0.25)])
def test_certificates_agree_with_the_area_that_hand_and_finger_sweep(start, end, spheres, monkeypatch):
    """A pin is free of the motion if it is outside of both rectangles; near their sides, either verdict is right."""
    if not spheres:  # exact distances decide everything
        monkeypatch.setattr(MotionCertifier, "sphere_test_applies", lambda self, margin=0.0: False)
    cell, state = cell_and_state(hand=True)
    pin = RigidBody("wall", (Shape(Box((0.01, 0.01, 0.3))),))
    cell = replace(cell, bodies=cell.bodies.set("wall", pin))
    places = np.random.default_rng(3).uniform((start - 0.2, -0.1), (end + 0.2, 0.45), (60, 2))
    verdicts = []
    for x, y in places:
        of_hand = max(start - 0.055 - x, x - end - 0.055, abs(y) - 0.055)
        of_finger = max(start - 0.025 - x, x - end - 0.025, -0.025 - y, y - 0.325)
        gap = min(of_hand, of_finger)
        at = state.with_body("wall", BodyState(Pose((x, y, 0.0))))
        free = SafetyLayer(cell, at, ("x",), 0.002, "hand").is_free(*np.array([[start], [end]]))
        assert not free or gap >= 0.002 - 1e-5
        assert free or gap < (0.007 if spheres else 0.05)  # exact distances alone are limited in number
        verdicts.append(free)
    assert 10 < sum(verdicts) < 55


def test_a_finger_without_limits_cannot_be_certified():
    cell, state = cell_and_state(hand=True, hand_text=HAND.replace("prismatic", "continuous"))
    with pytest.raises(InvalidRequestError, match="hand/open of the gripper has no position limits"):
        SafetyLayer(cell, state, ("x",), 0.002, "hand")


def with_bodies(attached_to, carried=False):
    """A body with a mass in the path, attached to a static object, and optionally one without a mass on top of it."""
    cell, state = cell_and_state()
    block = RigidBody("block", (Shape(Box((0.05, 0.05, 0.05))),), inertial=MASS)
    label = RigidBody("label", (Shape(Box((0.05, 0.05, 0.05))),))
    cell = replace(cell, bodies=cell.bodies.set("block", block))
    state = state.with_body("block", BodyState(Pose((0.0, -0.35, 0.0)), attached_to=attached_to))
    if carried:
        cell = replace(cell, bodies=cell.bodies.set("label", label))
        state = state.with_body("label", BodyState(Pose((0.0, 0.0, 0.06)), attached_to="block"))
    return cell, state


@pytest.mark.parametrize("carried", [False, True])
def test_free_bodies_may_be_touched_even_if_attached(carried):
    """The block has a mass and is attached to a static wall: the simulation lets it move freely."""
    cell, state = with_bodies("wall", carried)
    layer = SafetyLayer(cell, state, ("x",), 0.002)
    assert layer.is_free(np.zeros(1), np.array((0.5,)))
    assert pushed(environment(cell, state), steps=5)[1] == [1.0] * 5


def test_bodies_attached_to_the_robot_are_certified():
    cell, state = with_bodies("wall")
    state = state.with_body("block", BodyState(Pose((0.0, 0.35, 0.0)), attached_to="cube", touch_links=("cube",)))
    layer = SafetyLayer(cell, state, ("x",), 0.002)
    assert not layer.is_free(np.zeros(1), np.array((0.5,)))


def test_the_layer_is_rebuilt_only_if_the_certified_scene_changes():
    cell, state = with_bodies("wall")
    env = environment(cell, state, task=WallAt)
    env.reset(seed=0)
    layer = env._layer
    env.reset(seed=1)
    assert env._layer is layer
    env.close()
