"""Learning environments: the API of Gymnasium, reproducible episodes, and the safety layer."""

import math
import multiprocessing

import msgspec
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
from sources import ROOT

from robot_cell_planner.environments import (
    ActionKind,
    CellEnvironment,
    EnvironmentOptions,
    Reach,
    Region,
    SafetyLayer,
    make_environment,
)
from robot_cell_planner.errors import InvalidRequestError, UnknownNameError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.options import SimulationOptions

DEMO = str(ROOT / "config" / "demo" / "cell.yaml")
CASES = [
    {"task": "reach", "cell_file": DEMO, "safety_layer": True},
    {"task": "reach", "cell_file": DEMO, "goal_conditioned": True, "action": "twist"},
    {"task": "push", "cell_file": DEMO, "action": "velocity"},
    {"task": "pick_and_place", "cell_file": DEMO, "gripper": "gripper", "action": "effort"},
    {"task": "insert", "cell_file": DEMO},
    {"task": "balance"},
]


def episode(case, seed, steps=5):
    """Observations and rewards of an episode of random actions, as bytes."""
    env = make_environment(**case)
    random = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    found = [np.asarray(observation).tobytes()]
    for _ in range(steps):
        observation, reward, *_ = env.step(random.uniform(-1, 1, env.action_space.shape).astype(np.float32))
        found.append(np.asarray(observation).tobytes() + np.float64(reward).tobytes())
    env.close()
    return b"".join(found)


@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes.*")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["task"])
def test_the_checker_of_gymnasium_passes(case):
    env = make_environment(**case)
    check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]], ids=lambda case: case["task"])
def test_a_seed_gives_the_same_bytes_in_another_process(case):
    here = episode(case, 7)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(episode, (case, 7)) == here
    assert episode(case, 8) != here


def test_environments_run_in_processes():
    vector = AsyncVectorEnv([lambda: make_environment("balance")] * 2)
    observations, _ = vector.reset(seed=3)
    assert observations.shape[0] == 2
    assert not np.array_equal(observations[0], observations[1])
    vector.step(vector.action_space.sample())
    vector.close()


def obstacles(**options):
    """The demo arm starts above the bin, beside a wall, so that random actions soon collide."""
    return make_environment("reach", DEMO, period=0.4, episode_steps=1000, **options)


def test_no_certified_action_touches_anything():
    """Random actions cause no contact; without the layer they touch the table or the post."""
    touched = {}
    for layer in (True, False):
        env = obstacles(safety_layer=layer)
        env.reset(seed=1)
        random = np.random.default_rng(2)
        touched[layer], scales = 0, []
        direction = random.uniform(-1, 1, 6)
        for index in range(24):
            if index % 8 == 0:
                direction = random.uniform(-1, 1, 6)
                direction[1] = 1.0  # shoulder_lift_joint: downwards
            info = env.step(direction.astype(np.float32))[4]
            touched[layer] += len(info["contacts"])
            scales.append(info["action_scale"])
        assert (min(scales) < 1.0) == layer
        env.close()
    assert touched[True] == 0
    assert touched[False] > 0


def test_the_safety_layer_finds_the_largest_fraction():
    cell, state = load_cell(DEMO)
    names = cell.group("manipulator").variables
    layer = SafetyLayer(cell, state, names, 0.002)
    start = np.array([state.configuration[name] for name in names])
    down = start + np.array((0.0, 1.5, 0.0, 0.0, 0.0, 0.0))
    fraction = layer.scale(start, down)
    assert 0.0 < fraction < 1.0
    assert layer.is_free(start, start + fraction * (down - start))
    assert not layer.is_free(start, start + 2.0 * fraction * (down - start))
    assert layer.scale(start, start) == 1.0


def test_motions_of_an_action_stay_within_the_limits():
    env = obstacles()
    env.reset(seed=1)
    limits = env.cell.variables
    begin = env.simulated.state().configuration
    env.step(np.ones(6, dtype=np.float32))
    end = env.simulated.state().configuration
    for name in env.cell.group("manipulator").variables:
        assert abs(end[name] - begin[name]) <= limits[name].limits.velocity * 0.4 / 1.875 + 1e-3
        assert abs(env.simulated.joint_states().velocities).max() < 1e-2  # at rest
    env.close()


def test_rewards_of_hindsight_equal_those_of_steps():
    env = make_environment("reach", DEMO, goal_conditioned=True)
    env.reset(seed=1)
    for _ in range(3):
        observation, reward, *_, info = env.step(env.action_space.sample())
        again = env.compute_reward(observation["achieved_goal"], observation["desired_goal"], info)
        assert float(again) == pytest.approx(reward + info["cost"], abs=1e-6)
    env.close()


def test_observations_contain_the_goal_and_the_difference_to_it():
    plain, by_goals = (make_environment("reach", DEMO, goal_conditioned=conditioned) for conditioned in (False, True))
    for env in (plain, by_goals):
        env.reset(seed=4)
    action = np.full(6, 0.5, dtype=np.float32)
    observation, parts = plain.step(action)[0], by_goals.step(action)[0]
    left = parts["desired_goal"] - parts["achieved_goal"]
    expected = np.concatenate((parts["observation"], left, parts["desired_goal"]))
    np.testing.assert_allclose(observation, expected, atol=1e-6)
    plain.close()
    by_goals.close()


def test_options_of_the_simulation_are_used():
    """A motion ends at the same configuration with a coarser time step."""
    ends = []
    for time_step in (0.002, 0.01):
        simulation = SimulationOptions(time_step=time_step, settle_time=0.0, command_timeout=1.0)
        env = make_environment("reach", DEMO, safety_layer=True, simulation=simulation)
        env.reset(seed=1)
        env.step(np.full(6, -0.3, dtype=np.float32))
        assert env.simulated.options.time_step == time_step
        ends.append(env.simulated.joint_states().positions)
        env.close()
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-4)
    balance = make_environment("balance", simulation=SimulationOptions(time_step=0.001))
    assert balance.simulated.options.time_step == 0.001
    balance.close()


def test_the_pole_accelerates_as_in_the_equations_of_motion():
    """At rest and upright: the pole's angular acceleration is m l F / (J (M + m) - m^2 l^2), J about the hinge."""
    env = make_environment("balance", period=0.02)
    env.reset(seed=1)
    names = env.simulated.joint_names
    before = env.simulated.joint_states().velocities[names.index("pole_joint")]
    angle = env.simulated.joint_states().positions[names.index("pole_joint")]
    env.step(np.array((1.0,), dtype=np.float32))
    after = env.simulated.joint_states().velocities[names.index("pole_joint")]
    mass, rod, force, total = 0.1, 0.5, 10.0, 1.1
    inertia = 0.00833 + mass * rod**2
    gravity = mass * 9.81 * rod * math.sin(angle) * total
    expected = (-mass * rod * force + gravity) / (inertia * total - (mass * rod) ** 2) * 0.02
    assert after - before == pytest.approx(expected, rel=0.05)
    env.close()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"task": "fly"}, UnknownNameError, "'fly'"),
        ({"task": "reach"}, InvalidRequestError, "needs a cell_file"),
        ({"task": "push", "cell_file": DEMO, "body": "crate"}, UnknownNameError, "'crate'"),
        ({"task": "reach", "cell_file": DEMO, "period": -1.0}, InvalidRequestError, "period is -1"),
        ({"task": "reach", "cell_file": DEMO, "render_mode": "ascii"}, InvalidRequestError, "render mode 'ascii'"),
    ],
)
def test_invalid_arguments_are_refused(arguments, kind, words):
    with pytest.raises(kind, match=words):
        make_environment(**arguments)


@pytest.mark.parametrize(("period", "near"), [(0.025, "0.02 or 0.03"), (0.004, "0.01"), (0.0999, "0.09 or 0.1")])
@pytest.mark.parametrize("action", list(ActionKind))
def test_a_period_that_is_no_multiple_of_the_time_step_is_refused(period, near, action):
    simulation = SimulationOptions(settle_time=0.0, time_step=0.01)
    with pytest.raises(InvalidRequestError, match=f"period is {period} s, .* time_step of 0.01 s, such as {near}$"):
        make_environment("reach", DEMO, action=action, period=period, simulation=simulation)


@pytest.mark.parametrize(("period", "time_step"), [(0.1, 0.01), (0.3, 0.1 / 30.0), (0.07, 0.001), (10.0, 0.01)])
def test_an_action_takes_its_period_and_ends_at_rest(period, time_step):
    simulation = SimulationOptions(settle_time=0.0, time_step=time_step)
    env = make_environment("reach", DEMO, period=period, simulation=simulation)
    env.reset(seed=1)
    begin, action = env.simulated.time, np.zeros(env.action_space.shape, dtype=np.float32)
    action[-1] = 0.1
    env.step(action)
    assert env.simulated.time - begin == pytest.approx(period, rel=1e-9)
    assert np.abs(env.simulated.joint_states().velocities).max() < 2e-3
    env.close()


@pytest.mark.parametrize("timeout", [0.004, 0.1, 1.0])
def test_a_velocity_holds_for_the_whole_period(timeout):
    """The simulation's commands expire after a while; an action does not."""
    simulation = SimulationOptions(settle_time=0.0, command_timeout=timeout)
    env = make_environment("reach", DEMO, action="velocity", period=5.0, simulation=simulation)
    env.reset(seed=1)
    row = env.simulated.joint_names.index("wrist_3_joint")
    begin, action = env.simulated.joint_states(), np.zeros(env.action_space.shape, dtype=np.float32)
    action[env.cell.group("").variables.index("wrist_3_joint")] = 0.1
    env.step(action)
    end, speed = env.simulated.joint_states(), 0.1 * env.cell.variables["wrist_3_joint"].limits.velocity
    assert end.velocities[row] == pytest.approx(speed, rel=1e-3)
    assert end.positions[row] - begin.positions[row] == pytest.approx(5.0 * speed, rel=0.02)
    env.close()


@pytest.mark.parametrize("action", [ActionKind.EFFORT, ActionKind.POSITION])
def test_the_balanced_joint_falls_freely_for_the_whole_period(action):
    """Commands of its motor expire, after which it would hold the joint."""
    ends = []
    for timeout in (0.1, 60.0):
        simulation = SimulationOptions(settle_time=0.0, command_timeout=timeout)
        env = make_environment("balance", action=action, period=2.0, simulation=simulation)
        env.reset(seed=1)
        env.step(np.array((0.0,), dtype=np.float32))
        ends.append(env.simulated.joint_states())
        env.close()
    np.testing.assert_array_equal(ends[0].positions, ends[1].positions)
    np.testing.assert_array_equal(ends[0].velocities, ends[1].velocities)


@pytest.mark.parametrize("case", [{"task": "reach", "cell_file": DEMO, "action": "velocity"}, {"task": "balance"}])
def test_commands_that_expire_within_a_time_step_are_refused(case):
    simulation = SimulationOptions(settle_time=0.0, command_timeout=0.015, time_step=0.01)
    with pytest.raises(
        InvalidRequestError, match=r"command_timeout is 0.015 s, expected at least 2 time steps of 0.01 s"
    ):
        make_environment(**case, period=0.1, simulation=simulation)


def test_invalid_actions_and_regions_are_refused():
    env = make_environment("balance")
    env.reset(seed=1)
    for action in (np.zeros(2), np.array([math.nan])):
        with pytest.raises(InvalidRequestError, match="expected 1 finite"):
            env.step(action)
    env.close()
    with pytest.raises(InvalidRequestError, match="safety layer"):
        EnvironmentOptions(ActionKind.EFFORT, safety_layer=True)
    with pytest.raises(InvalidRequestError, match="empty"):
        Region((1.0, 0.0, 0.0), (0.0, 1.0, 1.0))


def test_an_image_shows_the_cell():
    env = make_environment("reach", DEMO, render_mode="rgb_array")
    env.reset(seed=1)
    image = env.render()
    assert image.shape == (360, 480, 3)
    assert image.dtype == np.uint8
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
    assert isinstance(env, CellEnvironment)
    env.close()


class OnTurnedBase(Reach):
    """At the start of an episode, the robot is above the cell, its base turned by 90 degrees."""

    def start(self, state, random):
        pose = Pose((0.0, 0.0, 2.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)))
        return msgspec.structs.replace(state, base_poses=state.base_poses.set("arm", pose))


def test_a_twist_moves_the_tool_centre_point_along_the_axes_of_the_world():
    cell, state = load_cell(DEMO)
    region = Region((0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    for kind in (Reach, OnTurnedBase):
        task = kind("gripper/tcp", region, start_spread=0.0)
        env = CellEnvironment(cell, state, task, EnvironmentOptions(action=ActionKind.TWIST))
        env.reset(seed=1)
        before = np.array(env.simulated.pose("gripper/tcp").position)
        env.step(np.array((0.3, 0.0, 0.0, 0.0, 0.0, 0.0), dtype=np.float32))
        along = np.array(env.simulated.pose("gripper/tcp").position) - before
        env.close()
        assert along[0] / np.linalg.norm(along) > 0.99, kind
