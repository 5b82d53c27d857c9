"""Tracking by controller, gravity holding, inverse dynamics compared with the engine, energy drift, and speed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec
import mujoco
import numpy as np
import pybullet
from frozendict import frozendict
from numpy.typing import NDArray

from robot_cell_planner.io.mesh.inertia import uniform_inertial
from robot_cell_planner.kinematics.dynamics import Dynamics
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Box, Shape
from robot_cell_planner.model.joint_extras import JointExtras
from robot_cell_planner.model.mechanism import Inertial, Joint, JointLimits
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import (
    CartesianImpedance,
    ComputedTorque,
    ControllerSettings,
    GravityCompensation,
    JointDrive,
    JointImpedance,
    MotorControl,
    PidControl,
    SimulatedRobot,
    TorqueControl,
    VelocityControl,
)
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.simulation.engines.bullet_engine import BulletEngine
from robot_cell_planner.simulation.engines.mujoco_engine import MujocoEngine
from robot_cell_planner.simulation.engines.names import BULLET, ENGINES
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.simulated_cell import SimulatedCell
from robot_cell_planner.trajectory.trajectory import Trajectory

from .arms import GROUP
from .arms import arm as arm_cell
from .results import Results

PAYLOAD = "payload"
ARMATURE = (
    0.1  # [kg m2] of joints with a controller, as in common models of these arms; without it wrists have no inertia
)
BENT = (0.3, -1.2, 1.1, -0.8, -1.4, 0.4)
BENT_PANDA = (0.3, -0.6, 0.2, -1.9, 0.2, 1.5, 0.6)
SEED = 1
PERIOD = 0.004  # [s] between commands, as `simulated_robot_node` has it
TRACKERS: tuple[ControllerSettings, ...] = (
    MotorControl(), PidControl(), VelocityControl(), ComputedTorque(), JointImpedance(2000.0)
)  # fmt: skip

Array = NDArray[np.float64]
Motion = Callable[[float], tuple[Array, Array]]


class Arm(NamedTuple):
    """A robot without shapes in an engine, its start (n,), and half of its rated payload [kg]."""

    engine: str
    name: str
    cell: RobotCell
    state: RobotCellState
    names: tuple[str, ...]
    start: Array
    payload: float


def type_name(settings: ControllerSettings) -> str:
    """Return the type of a controller."""
    return str(settings.__struct_config__.tag)


def sinusoid(start: Array, signs: Array, size: float = 0.2, rate: float = 2.0) -> Motion:
    """Return a motion of all joints that begins at rest."""

    def at(t: float) -> tuple[Array, Array]:
        phase = rate * t
        return start + signs * size * (1.0 - np.cos(phase)), signs * size * rate * np.sin(phase)

    return at


def worst_error(simulated: SimulatedCell, names: tuple[str, ...], motion: Motion, duration: float) -> float:
    """Follow a motion; return the largest error of a joint after the first fifth of a second [rad]."""
    origin, worst = simulated.time, 0.0
    rows = [simulated.joint_names.index(name) for name in names]
    while simulated.time < origin + duration - 1e-9:
        q, v = motion(simulated.time - origin)
        simulated.set_targets(dict(zip(names, q.tolist(), strict=True)), dict(zip(names, v.tolist(), strict=True)))
        simulated.step(PERIOD)
        t = simulated.time - origin
        if t > 0.2:
            error = np.abs(simulated.joint_states().positions[rows] - motion(t)[0]).max()
            worst = max(worst, float(error))
    return worst


def loaded(arm: Arm) -> tuple[RobotCell, RobotCellState]:
    """Return the cell with a body of half the payload 0.1 m from the tip of the arm."""
    moment = arm.payload * 0.1**2 / 6.0  # of a cube of 0.1 m
    inertial = Inertial(arm.payload, inertia=(moment, 0.0, 0.0, moment, 0.0, moment))
    bodies = frozendict({PAYLOAD: RigidBody(PAYLOAD, (Shape(Box((0.1, 0.1, 0.1))),), inertial=inertial)})
    cell = msgspec.structs.replace(arm.cell, bodies=bodies)
    at = BodyState(pose=Pose((0.0, 0.0, 0.1)), attached_to=cell.tip_link(GROUP))
    return cell, msgspec.structs.replace(arm.state, bodies=frozendict({PAYLOAD: at}))


def planned(arm: Arm) -> Iterator[tuple[Motion, float]]:
    """Yield planned motions to random configurations at the speed limits, with their durations [s]."""
    random = np.random.default_rng(SEED)
    for _ in range(3):
        goal = (arm.start + random.uniform(-1.0, 1.0, len(arm.names))).tolist()
        request = MotionRequest(
            Goals((dict(zip(arm.names, goal, strict=True)),)), GROUP, (), PlanningOptions(seed=SEED)
        )
        plan = plan_motion(arm.cell, arm.state, request)
        assert plan.trajectory is not None
        yield partial(_at, plan.trajectory), plan.duration


def _at(trajectory: Trajectory, t: float) -> tuple[Array, Array]:
    times = np.array((min(t, trajectory.duration),))
    return trajectory.at(times, 0)[0], trajectory.at(times, 1)[0]


def options(arm: Arm, settings: ControllerSettings, time_step: float = 0.002) -> SimulationOptions:
    """Return options with a controller for the arm."""
    robot = SimulatedRobot(frozendict({GROUP: settings}))
    # All steps are computed, also at rest.
    return SimulationOptions(time_step=time_step, robot=robot, command_timeout=60.0, engine=arm.engine, rest_speed=0.0)


def tracking(results: Results, arm: Arm) -> None:
    """Measure the tracking errors of all controllers, bare and with an unknown payload."""
    signs = np.where(np.arange(len(arm.names)) % 2 == 0, 1.0, -0.5)
    motions = list(planned(arm))
    for what, (cell, state) in (("bare", (arm.cell, arm.state)), ("payload", loaded(arm))):
        unknown = (PAYLOAD,) if cell.bodies else ()
        for settings in TRACKERS:
            name = f"{arm.name}_{what}_{type_name(settings)}"
            drives = {} if isinstance(settings, MotorControl) else {GROUP: JointDrive(armature=ARMATURE)}
            robot = SimulatedRobot(frozendict({GROUP: settings}), frozendict(drives), unknown)
            chosen = SimulationOptions(robot=robot, engine=arm.engine)
            with SimulatedCell(cell, state, chosen) as simulated:
                motion = sinusoid(arm.start, signs)
                results.add(f"{name}_sinusoid_mrad", 1e3 * worst_error(simulated, arm.names, motion, 4.0))
            worst = 0.0
            for motion, duration in motions:
                with SimulatedCell(cell, state, chosen) as simulated:
                    worst = max(worst, worst_error(simulated, arm.names, motion, duration + 0.2))
            results.add(f"{name}_planned_mrad", 1e3 * worst)


def holding(results: Results, arm: Arm) -> None:
    """Measure how far gravity compensation lets the joints drift in 10 s."""
    with SimulatedCell(arm.cell, arm.state, options(arm, GravityCompensation())) as simulated:
        start = simulated.joint_states().positions
        worst = 0.0
        for _ in range(100):
            simulated.step(0.1)
            worst = max(worst, float(np.abs(simulated.joint_states().positions - start).max()))
        results.add(f"{arm.name}_gravity_compensation_drift_10s_mrad", 1e3 * worst)


def inverse_dynamics(results: Results, arm: Arm) -> None:
    """Compare the accelerations of the engine with those that Pinocchio's inverse dynamics gave the efforts for."""
    dynamics, random, worst = Dynamics(arm.cell, arm.state), np.random.default_rng(SEED), 0.0
    step = 0.0005
    with SimulatedCell(arm.cell, arm.state, options(arm, TorqueControl(), step)) as simulated:
        rows = [simulated.joint_names.index(name) for name in dynamics.variables]
        damping = np.array([joint_damping(arm.cell, name) for name in dynamics.variables])
        for _ in range(200):
            states = simulated.joint_states()
            q, v = states.positions[rows], states.velocities[rows]
            wanted = random.uniform(-3.0, 3.0, len(rows)) - 2.0 * v
            efforts = dynamics.inverse(q, v, wanted) + damping * v
            simulated.set_efforts(dict(zip(dynamics.variables, efforts.tolist(), strict=True)))
            simulated.step(step)
            measured = (simulated.joint_states().velocities[rows] - v) / step
            own = [dynamics.variables.index(name) for name in arm.names]
            worst = max(worst, float(np.abs(measured - wanted)[own].max() / np.abs(wanted).max()))
    results.add(f"{arm.name}_inverse_dynamics_error_percent", 100.0 * worst)


def joint_damping(cell: RobotCell, name: str) -> float:
    """Return the damping of a joint's description."""
    return float(cell.robot.mechanism.joints[name].extras.damping)


def energy(results: Results, arm: Arm) -> None:
    """Measure the drift of the energy in free fall from the start, relative to the largest kinetic energy."""
    without_damping = _without_friction(arm.cell)
    dynamics = Dynamics(without_damping, arm.state)
    step, work = 0.0005, 0.0
    with SimulatedCell(without_damping, arm.state, options(arm, TorqueControl(), step)) as simulated:
        rows = [simulated.joint_names.index(name) for name in dynamics.variables]
        simulated.set_efforts(dict.fromkeys(dynamics.variables, 0.0))
        before, kinetic, drift = simulated.joint_states(), [0.0], 0.0
        for _ in range(600):
            simulated.step(step)
            after = simulated.joint_states()
            middle = 0.5 * (before.positions + after.positions)[rows]
            work -= float(dynamics.gravity(middle) @ (after.positions - before.positions)[rows])
            v = after.velocities[rows]
            kinetic.append(0.5 * float(v @ dynamics.mass_matrix(after.positions[rows]) @ v))
            drift = max(drift, abs(kinetic[-1] - work))
            before = after
    results.add(f"{arm.name}_energy_drift_percent", 100.0 * drift / max(kinetic))


def _without_friction(cell: RobotCell) -> RobotCell:
    robot = cell.robot
    joints = {
        name: msgspec.structs.replace(joint, extras=JointExtras(), limits=_free(joint))
        for name, joint in robot.mechanism.joints.items()
    }
    mechanism = msgspec.structs.replace(robot.mechanism, joints=frozendict(joints))
    return msgspec.structs.replace(
        cell, robots=frozendict({robot.name: msgspec.structs.replace(robot, mechanism=mechanism)})
    )


def _free(joint: Joint) -> JointLimits:
    return msgspec.structs.replace(joint.limits, lower=-100.0, upper=100.0)


def speed(results: Results, arm: Arm) -> None:
    """Measure the real-time factor at 1 kHz with 20 bodies on a table, by controller."""
    bodies = {"table": RigidBody("table", (Shape(Box((4.0, 4.0, 0.1))),))}
    places = {"table": BodyState(pose=Pose((0.0, 0.0, -2.05)))}
    for index in range(20):
        name, shape = f"box_{index}", Shape(Box((0.1, 0.1, 0.1)))
        bodies[name] = RigidBody(name, (shape,), inertial=uniform_inertial((shape,), mass=0.5))
        places[name] = BodyState(pose=Pose((0.3 * (index % 5) - 0.6, 0.3 * (index // 5) - 0.5, -1.95)))
    cell = msgspec.structs.replace(arm.cell, bodies=frozendict(bodies))
    state = msgspec.structs.replace(arm.state, bodies=frozendict(places))
    for settings in (MotorControl(), GravityCompensation(), ComputedTorque(), JointImpedance(), CartesianImpedance()):
        with SimulatedCell(cell, state, options(arm, settings, 0.001)) as simulated:
            simulated.step(0.1)
            factor = 0.2 / processor_time(partial(simulated.step, 0.2), 1)
            results.add(f"{arm.name}_20_bodies_1kHz_{type_name(settings)}_rtf", factor)
            if isinstance(settings, MotorControl):  # the same scene with its motors at rest, without our part
                factor = 0.001 / processor_time(plain_step(simulated), 200)
                results.add(f"{arm.name}_20_bodies_1kHz_plain_rtf", factor)


def processor_time(call: Callable[[], object], count: int, turns: int = 5) -> float:
    """Return the median of the processor time of a call [s]; a turn has a number of calls."""
    times = []
    for _ in range(turns):
        begin = time.process_time()
        for _ in range(count):
            call()
        times.append((time.process_time() - begin) / count)
    return float(np.median(times))


def plain_step(simulated: SimulatedCell) -> Callable[[], None]:
    """Return the step of the engine itself."""
    engine = simulated.engine
    if isinstance(engine, MujocoEngine):
        model, data = engine.model_and_data
        return partial(mujoco.mj_step, model, data)
    assert isinstance(engine, BulletEngine)
    return partial(pybullet.stepSimulation, physicsClientId=engine.client)


def arms(engine: str) -> Iterator[Arm]:
    """Yield the arms in a bent configuration; the names of those in MuJoCo are marked."""
    prefix = "" if engine == BULLET else f"{engine}_"
    for name, payload in (("demo", 2.5), ("ur10", 5.0), ("panda", 1.5)):
        cell = arm_cell(name)
        names = cell.group(GROUP).variables
        values = dict(zip(names, BENT[: len(names)] if name != "panda" else BENT_PANDA, strict=True))
        state = cell.default_state().with_configuration(values)
        yield Arm(engine, prefix + name, cell, state, names, np.array(list(values.values())), payload)


STUDIES = {
    "tracking": tracking,
    "holding": holding,
    "inverse_dynamics": inverse_dynamics,
    "energy": energy,
    "speed": speed,
}


def main() -> None:
    """Measure and write the figures of all studies or some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=STUDIES, default=list(STUDIES))
    given = parser.parse_args()
    results = Results("simulation", SEED)
    for arm in (arm for engine in ENGINES for arm in arms(engine)):
        for study in given.only:
            STUDIES[study](results, arm)
    results.finish(update=True)


if __name__ == "__main__":
    main()
