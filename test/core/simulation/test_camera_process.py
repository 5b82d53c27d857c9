"""Cameras in a separate process, and the messages of a simulation for its sensors."""

import math
import os
import queue
import signal

import msgspec
import numpy as np
import pytest
from frozendict import frozendict
from simulation_cells import workshop

from robot_cell_planner.errors import UnknownNameError, WorkerCrashedError
from robot_cell_planner.model.bodies import NamedFrame
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.simulated_robot import SimulatedRobot
from robot_cell_planner.model.simulated_sensors import CameraSensor, ForceTorqueSensor, JointTorqueSensor
from robot_cell_planner.simulation.camera_process import (
    DEPTH,
    KINDS,
    POINTS,
    RGB,
    SEGMENTATION,
    CameraFrame,
    CameraProcess,
    CameraStart,
    ImageRequest,
)
from robot_cell_planner.simulation.measurements import ImagesDue, Measurement
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Schedule, SimulationProcess, Start
from robot_cell_planner.simulation.sensors import view_of
from robot_cell_planner.simulation.simulated_cell import SimulatedCell

PATIENCE = 120.0
WIDTH, HEIGHT = 64, 48
EYE = Pose.from_rpy((0.0, -1.5, 0.4), (-math.pi / 2.0, 0.0, 0.0))
CAMERA = CameraSensor("eye", WIDTH, HEIGHT, rate=25.0)
SENSORS = {"eye": CAMERA, "wrist": ForceTorqueSensor("gripper", rate=50.0), "all": JointTorqueSensor(rate=125.0)}


def watched(sensors=SENSORS):
    cell, state = workshop()
    cell = msgspec.structs.replace(cell, frames=frozendict({"eye": NamedFrame("eye", "world", EYE)}))
    robot = SimulatedRobot(sensors=frozendict(sensors))
    return cell, state, SimulationOptions(settle_time=0.0, robot=robot)


@pytest.fixture
def cameras():
    frames, ends = queue.Queue(), queue.Queue()
    process = CameraProcess(CameraStart(*watched()), frames.put, ends.put)
    process.frames, process.ends = frames, ends
    yield process
    process.close()


def array(content, kind, channels=1):
    return np.frombuffer(content, kind).reshape(HEIGHT, WIDTH, channels).squeeze()


def test_images_are_those_of_the_simulation_at_their_time(cameras):
    cell, state, options = watched()
    with SimulatedCell(cell, state, options) as simulated:
        simulated.set_targets({"x": 0.2, "z": -0.2})
        for moment in (0.5, 1.0):
            simulated.step_to(moment)
            cameras.render(ImageRequest(moment, simulated.placement, {"eye": KINDS}))
            found = cameras.frames.get(timeout=PATIENCE)
            expected = simulated.sensors.image("eye")
            assert (found.camera, found.moment, cameras.names) == ("eye", moment, expected.names)
            assert np.array_equal(array(found.rgb, np.uint8, 3), expected.rgb)
            assert np.array_equal(array(found.depth, np.float32), expected.depth)
            assert np.array_equal(array(found.segmentation, np.int32), expected.segmentation)
            points = array(found.points, np.float32, 4)
            view = view_of(CAMERA, EYE)
            assert np.array_equal(points[:, :, :3], view.points(expected.depth), equal_nan=True)
            colour = points[10, 20:21, 3].view(np.uint32)[0]
            assert tuple(int(colour) >> shift & 0xFF for shift in (16, 8, 0)) == tuple(expected.rgb[10, 20])


def test_only_requested_images_are_sent(cameras):
    with SimulatedCell(*watched()) as simulated:
        cameras.render(ImageRequest(0.0, simulated.placement, {"eye": (DEPTH,)}))
    found = cameras.frames.get(timeout=PATIENCE)
    assert len(found.depth) == 4 * WIDTH * HEIGHT
    assert (found.rgb, found.segmentation, found.points) == (b"", b"", b"")


def test_requests_that_wait_are_replaced_by_the_latest(cameras):
    with SimulatedCell(*watched()) as simulated:
        placement = simulated.placement
    moments = [float(index) for index in range(200)]
    for moment in moments:
        cameras.render(ImageRequest(moment, placement, {"eye": (RGB, DEPTH, SEGMENTATION, POINTS)}))
    found = []
    while not found or found[-1] != moments[-1]:
        found.append(cameras.frames.get(timeout=PATIENCE).moment)
    assert found == sorted(set(found))
    assert found[0] == 0.0
    assert len(found) + cameras.skipped == len(moments)
    assert cameras.skipped > 0


def test_a_process_that_is_killed_is_reported(cameras):
    os.kill(cameras._process.pid, signal.SIGKILL)
    assert isinstance(cameras.ends.get(timeout=PATIENCE), WorkerCrashedError)


def test_an_end_by_request_is_not_reported(cameras):
    cameras.close()
    assert cameras.ends.empty()
    cameras.close()


def test_a_simulation_sends_measurements_at_the_rates_of_sensors():
    messages = queue.Queue()
    schedule = Schedule(rate=125.0, real_time_factor=4.0, simulated_clock=True)
    cell, state, options = watched()
    ignored = messages.put
    process = SimulationProcess(Start(cell, state, options, schedule), ignored, ignored, ignored, messages.put)
    try:
        process.run()
        found = []
        while not found or found[-1].moment < 0.8:
            found.append(messages.get(timeout=PATIENCE))
    finally:
        process.close()
    images = [message for message in found if isinstance(message, ImagesDue)]
    measured = [message for message in found if isinstance(message, Measurement)]
    with SimulatedCell(cell, state, options) as simulated:
        for message in images:
            simulated.step_to(message.moment)
            assert message.placement == simulated.placement  # to the last bit, in another process
    assert np.diff([message.moment for message in images]) == pytest.approx(5 / 125.0)
    with_wrench = np.array([message.moment for message in measured if message.wrenches])
    # Every 2.5 periods, in whole periods.
    assert with_wrench - with_wrench[0] == pytest.approx(np.floor(125.0 / 50.0 * np.arange(len(with_wrench))) / 125.0)
    assert np.diff([message.moment for message in measured if message.torques]) == pytest.approx(1 / 125.0)
    assert set(measured[-1].torques["all"]) == {"x", "y", "z", "turn"}


def test_a_camera_on_an_unknown_frame_is_refused():
    cell, state, options = watched({"eye": CameraSensor("nowhere")})
    start = Start(cell, state, options, Schedule())
    with pytest.raises(UnknownNameError, match="nowhere"):
        SimulationProcess(start, lambda _: None, lambda _: None, lambda _: None)


def test_a_frame_without_images_is_empty():
    assert not any(getattr(CameraFrame("eye", 0.0), kind) for kind in KINDS)
