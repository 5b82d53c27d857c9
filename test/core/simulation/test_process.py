"""A simulation in a separate process: synchronised with the clock, evenly spaced samples, and a reported end."""

import contextlib
import math
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from folders import SUPPORT
from simulation_cells import body, box, cell_of_bodies, joint, link, pendulums, workshop

from robot_cell_planner.errors import InvalidRequestError, RobotCellError, WorkerCrashedError
from robot_cell_planner.model.geometry import Mesh, Shape
from robot_cell_planner.model.mechanism import JointKind
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.commands import JointCommand
from robot_cell_planner.simulation.disturbances import BOUNDS, Disturbance, DisturbanceKind
from robot_cell_planner.simulation.operations import Continue, Disturb, Pause, Reset, Step
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.pace import Pace
from robot_cell_planner.simulation.process import (
    MAX_UNSENT,
    SCHEDULE_BOUNDS,
    Report,
    Schedule,
    SimulationProcess,
    Start,
)
from robot_cell_planner.simulation.repetition import MAX_LAG, JointSample, Repeats, Repetition
from robot_cell_planner.simulation.worker import MAX_WAITING

PATIENCE = 120.0
QUICK = SimulationOptions(settle_time=0.0)
RESTING = Schedule(rate=250.0, delay=0.02)


class Listener:
    """The messages of a process, in order."""

    def __init__(self, start):
        self.messages = queue.Queue()
        put = self.messages.put
        self.process = SimulationProcess(start, put, put, put)

    def until(self, condition):
        """All messages up to the first that meets a condition."""
        found = []
        while not found or not condition(found[-1]):
            found.append(self.messages.get(timeout=PATIENCE))
        return found


@pytest.fixture
def listener():
    """A workshop on simulated time, four times as fast as the clock."""
    schedule = Schedule(rate=125.0, report_rate=25.0, real_time_factor=4.0, simulated_clock=True)
    listener = Listener(Start(*workshop(), QUICK, schedule))
    yield listener
    listener.process.close()


def test_samples_and_reports_are_evenly_spaced(listener):
    assert listener.process.joint_names == ("x", "y", "z", "turn", "finger", "finger_2")
    assert listener.process.driven_joints == ("x", "y", "z", "turn", "finger")
    assert listener.process.warnings == ()
    listener.process.run()
    found = listener.until(lambda message: message.moment > 0.5)
    samples = [message for message in found if isinstance(message, JointSample)]
    reports = [message for message in found if isinstance(message, Report)]
    assert [sample.moment for sample in samples] == pytest.approx([0.008 * (i + 1) for i in range(len(samples))])
    assert [report.moment for report in reports] == pytest.approx([0.008 + 0.04 * i for i in range(len(reports))])
    assert set(reports[0].bodies) == {"table", "workpiece", "bin", "post"}
    assert len(samples[0].positions) == len(samples[0].velocities) == len(samples[0].efforts) == 6


def test_commands_are_executed_at_their_times(listener):
    """Velocity commands for future times, sent at once: the joint turns while they are valid, and no longer."""
    listener.process.run()
    first = listener.until(lambda message: isinstance(message, JointSample))[-1].moment + 0.5
    for index in range(5):
        listener.process.command(JointCommand({}, {"turn": 0.1}), first + 0.1 * index)
    found = listener.until(lambda message: message.moment > first + 1.0)
    samples = [message for message in found if isinstance(message, JointSample)]
    assert all(abs(sample.positions[3]) < 1e-6 for sample in samples if sample.moment < first)
    assert samples[-1].positions[3] == pytest.approx(0.1 * (0.4 + QUICK.command_timeout), abs=0.002)
    assert listener.process.dropped == 0


def test_a_command_for_a_later_time_does_not_hold_up_those_of_others(listener):
    listener.process.run()
    now = listener.until(lambda message: isinstance(message, JointSample))[-1].moment
    listener.process.command(JointCommand({"turn": 0.2}), now + 3.0)
    listener.process.command(JointCommand({"x": 0.1}), now + 0.1)
    listener.process.command(JointCommand({"y": 0.1}), None)
    listener.until(lambda message: message.moment > now + 1.5)
    found = samples(listener.until(lambda message: message.moment > now + 2.0))
    assert found[-1].positions[:4] == pytest.approx([0.1, 0.1, found[-1].positions[2], 0.0], abs=1e-4)
    found = samples(listener.until(lambda message: message.moment > now + 5.0))
    assert found[-1].positions[3] == pytest.approx(0.2, abs=1e-4)


def test_a_command_without_a_time_follows_the_earlier_ones(listener):
    listener.process.run()
    answers = queue.Queue()
    listener.process.request(Pause(), answers.put)
    time = answers.get(timeout=PATIENCE).time
    listener.process.command(JointCommand({"turn": 0.2}), time)
    listener.process.command(JointCommand({"turn": 0.1}), None)
    listener.process.request(Continue(), answers.put)
    assert answers.get(timeout=PATIENCE).error is None
    listener.until(lambda message: message.moment > time + 1.5)
    (last,) = samples(listener.until(lambda message: message.moment > time + 2.0))[-1:]
    assert last.positions[3] == pytest.approx(0.1, abs=1e-4)


@pytest.mark.parametrize("operation", [Pause(), Reset()])
def test_a_pause_and_a_reset_end_the_steps_that_are_left(listener, operation):
    listener.process.run()
    answers = queue.Queue()

    def answered(asked):
        listener.process.request(asked, answers.put)
        answer = answers.get(timeout=PATIENCE)
        assert answer.error is None
        return answer

    answered(Pause())
    answered(Step(1_000_000))
    ended = answered(operation)
    assert ended.paused
    assert [answered(Disturb(())).time for _ in range(5)] == [ended.time] * 5


def test_the_last_of_many_commands_to_a_process_that_is_not_scheduled_is_kept(listener):
    """It was lost when the process had not read for 0.2 s, and the robot stopped before its goal."""
    listener.process.run()
    start = listener.until(lambda message: isinstance(message, JointSample))[-1].moment
    pid, commands = listener.process._process.pid, 1000
    os.kill(pid, signal.SIGSTOP)
    for index in range(1, commands + 1):
        listener.process.command(JointCommand({"turn": 0.2 * index / commands}), start + 1e-3 * index)
    os.kill(pid, signal.SIGCONT)
    # The newest command arrives, however late after the others the thread that sends it comes to run.
    listener.until(
        lambda message: isinstance(message, JointSample) and message.positions[3] == pytest.approx(0.2, abs=1e-4)
    )
    assert listener.process.dropped == 0


def test_of_too_many_commands_the_oldest_are_discarded_and_requests_are_kept(listener):
    listener.process.run()
    start = listener.until(lambda message: isinstance(message, JointSample))[-1].moment
    pid, answers, commands = listener.process._process.pid, queue.Queue(), 3 * MAX_UNSENT
    os.kill(pid, signal.SIGSTOP)
    for index in range(1, commands + 1):
        listener.process.command(JointCommand({"turn": 0.2 * index / commands}), start + 1e-4 * index)
        if index == MAX_UNSENT // 2:
            listener.process.request(Disturb(()), answers.put)
    assert 0 < listener.process.dropped < 2 * MAX_UNSENT + 1
    os.kill(pid, signal.SIGCONT)
    assert answers.get(timeout=PATIENCE).error is None
    # The newest command arrives, however late after the others the thread that sends it comes to run.
    listener.until(
        lambda message: isinstance(message, JointSample) and message.positions[3] == pytest.approx(0.2, abs=1e-4)
    )


def command_in_pause(listener, commands, answers, time):
    """Send many commands of one joint to a simulation that is paused at a time [s]."""
    for index in range(1, commands + 1):
        if index % 100 == 0:  # so that they wait in the process of the physics, and not for it
            listener.process.request(Disturb(()), answers.put)
            assert answers.get(timeout=PATIENCE).time == time
        listener.process.command(JointCommand({"turn": 0.2 * index / commands}), time)


def test_commands_that_are_dropped_in_a_pause_are_counted(listener):
    listener.process.run()
    answers, commands = queue.Queue(), MAX_WAITING + 5
    listener.process.request(Pause(), answers.put)
    time = answers.get(timeout=PATIENCE).time
    command_in_pause(listener, commands, answers, time)
    listener.process.request(Continue(), answers.put)
    assert answers.get(timeout=PATIENCE).error is None
    listener.until(lambda message: isinstance(message, Report) and message.moment > time + 0.1)
    assert listener.process.dropped == 5


def test_a_stream_at_the_longest_latency_and_delay_costs_no_command(listener):
    """Otherwise each command would be dropped before its time, and the joint would never move."""
    listener.process.run()
    answers, latency = queue.Queue(), BOUNDS[DisturbanceKind.COMMAND_LATENCY][1]
    listener.process.request(Pause(), answers.put)
    time = answers.get(timeout=PATIENCE).time
    listener.process.request(Disturb((Disturbance(DisturbanceKind.COMMAND_LATENCY, value=latency),)), answers.put)
    assert answers.get(timeout=PATIENCE).error is None
    command_in_pause(listener, round(1000.0 * (latency + SCHEDULE_BOUNDS["delay"][1])), answers, time)
    listener.process.request(Continue(), answers.put)
    assert answers.get(timeout=PATIENCE).error is None
    found = samples(listener.until(lambda message: message.moment > time + latency + 2.0))
    assert found[-1].positions[3] == pytest.approx(0.2, abs=1e-4)
    assert listener.process.dropped == 0


def test_a_flood_of_commands_of_one_joint_costs_another_none(listener):
    listener.process.run()
    answers, commands = queue.Queue(), MAX_WAITING + 500
    listener.process.request(Pause(), answers.put)
    time = answers.get(timeout=PATIENCE).time
    listener.process.command(JointCommand({"x": 0.1}), time)
    listener.process.command(JointCommand({"y": 0.1, "turn": 0.0}), time)
    command_in_pause(listener, commands, answers, time)
    listener.process.request(Continue(), answers.put)
    assert answers.get(timeout=PATIENCE).error is None
    found = listener.until(lambda message: isinstance(message, JointSample) and message.moment > time + 2.0)
    x, y, _, turn = found[-1].positions[:4]
    assert (x, y, turn) == pytest.approx((0.1, 0.1, 0.2), abs=1e-4)
    assert listener.process.dropped == 501


def test_a_process_that_is_killed_is_reported(listener):
    listener.process.run()
    listener.until(lambda message: isinstance(message, JointSample))
    os.kill(listener.process._process.pid, signal.SIGKILL)
    error = listener.until(lambda message: isinstance(message, Exception))[-1]
    assert isinstance(error, WorkerCrashedError)
    assert "status -9" in error.message
    listener.process.command(JointCommand({"x": 0.1}))
    listener.process.close()


def test_a_request_to_a_process_that_is_killed_is_answered(listener):
    listener.process.run()
    listener.until(lambda message: isinstance(message, JointSample))
    pid, answers = listener.process._process.pid, queue.Queue()
    os.kill(pid, signal.SIGSTOP)
    listener.process.request(Pause(), answers.put)
    os.kill(pid, signal.SIGKILL)
    assert isinstance(answers.get(timeout=PATIENCE).error, WorkerCrashedError)
    with pytest.raises(WorkerCrashedError, match="does not take requests"):
        listener.process.request(Pause(), answers.put)
    assert answers.empty()


def test_a_callback_that_fails_is_reported():
    ends = queue.Queue()

    def fail(sample):
        raise ValueError("no paper")

    process = SimulationProcess(Start(*workshop(), QUICK, Schedule()), fail, lambda report: None, ends.put)
    process.run()
    assert "ValueError: no paper" in ends.get(timeout=PATIENCE).message
    process.close()


def test_a_request_after_a_callback_has_failed_is_refused_instead_of_never_answered():
    ends, answers = queue.Queue(), queue.Queue()

    def fail(sample):
        raise ValueError("no paper")

    process = SimulationProcess(Start(*workshop(), QUICK, Schedule()), fail, lambda report: None, ends.put)
    process.run()
    ends.get(timeout=PATIENCE)
    process._thread.join(PATIENCE)
    with pytest.raises(WorkerCrashedError, match="does not take requests"):
        process.request(Pause(), answers.put)
    process.close()
    assert answers.empty()


def test_errors_of_the_cell_are_passed_on_completely():
    missing = Mesh("part.stl", "/no/such/part.stl", "0" * 64)
    hinge = joint("hinge", JointKind.REVOLUTE, "base", "tip", (0.0, 0.0, 1.0))
    cell, state = pendulums(hinge, links=[link("tip", [box(0.1, 0.1, 0.1)], 1.0)])
    broken = pendulums(hinge, links=[type(cell.robot.mechanism.links["tip"])("tip", collisions=(Shape(missing),))])[0]
    before = threading.active_count()
    with pytest.raises(RobotCellError, match=r"part\.stl") as caught:
        SimulationProcess(Start(broken, state, QUICK, Schedule()), print, print, print)
    assert not isinstance(caught.value, WorkerCrashedError)
    assert threading.active_count() == before


def test_close_ends_the_process_at_any_stage(listener, monkeypatch):
    monkeypatch.setattr("robot_cell_planner.simulation.process.END_TIMEOUT", PATIENCE)  # of a busy computer
    process = listener.process._process
    listener.process.close()
    assert process.returncode == 0


@pytest.mark.parametrize(("name", "value"), [("rate", 0.5), ("report_rate", math.nan), ("real_time_factor", 0.0)])
def test_schedules_out_of_bounds_are_refused_by_name(name, value):
    with pytest.raises(InvalidRequestError, match=name):
        Schedule(**{name: value})


def test_after_a_long_suspension_the_joints_follow_the_commands():
    """Commands wait for the process while the clock advances: x moves, and then y. A direct motion may collide."""
    listener, quarter = Listener(Start(*workshop(), QUICK, Schedule(rate=100.0))), 50
    listener.process.run()
    listener.until(lambda message: isinstance(message, JointSample))
    os.kill(listener.process._process.pid, signal.SIGSTOP)
    begin = time.monotonic()
    for index in range(1, 2 * quarter + 1):
        x, y = min(index, quarter), max(index - quarter, 0)
        command = JointCommand({"x": 0.1 * x / quarter, "y": 0.1 * y / quarter})
        listener.process.command(command, begin + 0.01 * index)
    while time.monotonic() < begin + 1.4 * MAX_LAG:
        threading.Event().wait(0.05)
    os.kill(listener.process._process.pid, signal.SIGCONT)
    found = listener.until(lambda message: isinstance(message, JointSample) and message.positions[1] > 0.0995)
    listener.process.close()
    for sample in (message for message in found if isinstance(message, JointSample)):
        x, y = sample.positions[:2]
        assert min(abs(y), abs(x - 0.1)) < 0.01, sample.positions  # in a direct motion: 0.05


@pytest.fixture
def resting():
    """A workshop on the clock that is at rest, whose process is therefore idle, and its previous samples."""
    listener = Listener(Start(*workshop(), QUICK, RESTING))
    listener.process.run()
    pid = listener.process._process.pid
    found = []
    while len(found) < 500:  # fewer would have been sent in advance
        found += samples(listener.until(lambda message: isinstance(message, JointSample)))
        if len(found) == 250:
            os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGCONT)
    yield listener, found
    listener.process.close()


def samples(messages):
    return [message for message in messages if isinstance(message, JointSample)]


def is_even(found):
    """Whether no sample is missing, except for time lost by a busy computer."""
    return np.diff([sample.moment - sample.lost for sample in found]) == pytest.approx(1.0 / RESTING.rate, abs=1e-6)


def test_samples_at_rest_do_not_need_the_process(resting):
    _, found = resting
    assert is_even(found)
    states = {(*sample.positions, *sample.velocities, *sample.efforts) for sample in found[250:]}
    assert len(states) == 1


# A command for a time after the last step of a period (period: 4 ms, step: 2 ms) was executed, but not reported.
@pytest.mark.parametrize("fraction", [0.0, 0.4, 0.6, 0.8, 0.99])
def test_a_command_at_any_moment_of_a_period_ends_a_rest_and_no_sample_is_lost(resting, fraction):
    listener, found = resting
    for target in (0.1, 0.2):  # the second one ends another rest
        moment = found[-1].moment + 0.1 + fraction / RESTING.rate
        listener.process.command(JointCommand({"turn": target}), moment)
        found += samples(listener.until(lambda message, end=moment: message.moment > end + 1.0))
        assert at(found[-1], target)
    assert is_even(found)


def at(message, turn):
    return isinstance(message, JointSample) and abs(message.positions[3] - turn) < 1e-4


def test_a_suspended_process_later_executes_commands_in_their_order(resting):
    listener, _ = resting
    os.kill(listener.process._process.pid, signal.SIGSTOP)
    begin = time.monotonic()
    for index in range(41):
        listener.process.command(JointCommand({"turn": 0.001 * index}), begin + 0.01 * index)
    while time.monotonic() < begin + 0.5:
        threading.Event().wait(0.05)
    os.kill(listener.process._process.pid, signal.SIGCONT)
    found = samples(listener.until(lambda message: at(message, 0.04)))
    moved = [sample for sample in found if begin < sample.moment < begin + 0.4]  # then the last one is extrapolated
    expected = [0.1 * (sample.moment - begin) for sample in moved]
    assert [sample.positions[3] for sample in moved] == pytest.approx(expected, abs=0.004)
    assert len(moved) > 90


def test_a_pause_ends_a_rest(resting):
    listener, found = resting
    answers = queue.Queue()
    listener.process.request(Pause(), answers.put)
    paused = answers.get(timeout=PATIENCE)
    assert paused.paused
    before = found + samples(drained(listener.messages))
    assert is_even(before)
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        listener.process.request(Disturb(()), answers.put)
        assert answers.get(timeout=PATIENCE).time == paused.time
    assert samples(drained(listener.messages)) == []
    listener.process.request(Continue(), answers.put)
    answers.get(timeout=PATIENCE)
    after = samples(listener.until(lambda message: message.moment > before[-1].moment + 1.0))
    assert after[0].moment > before[-1].moment + 0.1
    assert is_even(after)


@pytest.fixture
def falling():
    """A box that falls 20 mm onto a table, with few reports or many."""
    stone, table = body("stone", [box(0.1, 0.1, 0.1)], 1.0), body("table", [box(1, 1, 0.1, Pose((0.0, 0.0, -0.05)))])
    cell, listeners = cell_of_bodies(stone, table, stone=Pose((0.0, 0.0, 0.07))), []

    def start(report_rate):
        listeners.append(Listener(Start(*cell, QUICK, Schedule(rate=100.0, report_rate=report_rate))))
        listeners[-1].process.run()
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.process.close()


def answer_of(listener, operation):
    answers = queue.Queue()
    listener.process.request(operation, answers.put)
    answer = answers.get(timeout=PATIENCE)
    assert answer.error is None
    return answer


def pause(listener, duration):
    answer_of(listener, Pause())
    until = time.monotonic() + duration
    while time.monotonic() < until:
        answer_of(listener, Disturb(()))


def test_the_stamps_of_past_contacts_do_not_move_with_pauses(falling):
    listener = falling(50.0)

    def contact():
        drained(listener.messages)
        (record,) = listener.until(lambda message: isinstance(message, Report) and message.contacts)[-1].contacts
        return record

    first, before = contact(), time.monotonic()
    assert first.begin <= first.end <= before
    for operations in ((Continue(),), (Step(3), Continue())):
        pause(listener, 0.1)
        for operation in operations:
            answer_of(listener, operation)
        later = contact()
        assert later.begin == first.begin
        assert later.end > first.end


def test_contacts_before_a_pause_that_are_reported_after_it_have_the_stamps_of_their_time(falling):
    listener = falling(1.0)
    found = samples(listener.until(lambda message: isinstance(message, JointSample) and message.moment > 0.0))
    while len(found) < 30:
        found += samples(listener.until(lambda message: isinstance(message, JointSample)))
    pause(listener, 0.2)
    answer_of(listener, Continue())
    (record,) = listener.until(lambda message: isinstance(message, Report) and message.contacts)[-1].contacts
    fall = math.sqrt(2.0 * 0.02 / 9.81)
    assert record.begin == pytest.approx(found[0].moment - 0.01 + fall, abs=0.01)


def drained(messages):
    found = []
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(messages.get_nowait())
    return found


def test_the_end_of_a_rest_completes_the_samples_and_none_is_sent_twice():
    found = []
    repetition = Repetition(0.0, lambda: 3, found.append)
    sample = JointSample(1.0, [0.5], [0.0], [2.0], 0.0)
    repetition.take(sample)
    repetition.take(Repeats(1.25, 0.25, received=3))
    repetition.take(Repeats(9.0, 0.25, received=4, end=2.0))
    assert found == [replace(sample, moment=moment) for moment in (1.0, 1.25, 1.5, 1.75, 2.0)]
    repetition.take(replace(sample, moment=2.0))
    repetition.take(replace(sample, moment=2.25))
    assert found[-1].moment == 2.25
    assert len(found) == 6


def test_samples_that_are_very_late_are_left_out_and_counted():
    found = []
    repetition = Repetition(0.0, lambda: 3, found.append)
    repetition.take(JointSample(1.0, [0.5], [0.0], [2.0], 0.25))
    repetition.take(Repeats(1.25, 0.25, received=3))
    repetition.take(Repeats(9.0, 0.25, received=4, end=11.0))
    repetition.take(JointSample(11.25, [0.5], [0.0], [2.0], 0.25))
    assert [sample.moment for sample in found] == [1.0, 10.0, 10.25, 10.5, 10.75, 11.0, 11.25]
    assert [sample.lost for sample in found] == [0.25] + [9.0] * 6


def test_samples_are_not_repeated_while_a_message_is_pending():
    found, sent = [], [3]
    repetition = Repetition(0.0, lambda: sent[0], found.append)
    repetition.take(JointSample(1.0, [0.5], [0.0], [2.0], 0.0))
    repetition.take(Repeats(time.monotonic(), 0.01, received=3))
    assert repetition._left() is not None
    sent[0] += 1
    assert repetition._left() is None


def test_lost_time_is_skipped_and_counted():
    pace = Pace(Schedule(rate=100.0))
    begin = pace.moment(0.0)
    pace._origin -= 5.0
    assert pace.falls_behind(0.01, moving=False)
    pace.catch_up(0.01)
    assert not pace.falls_behind(0.01, moving=False)
    assert pace.lost == pytest.approx(5.0, abs=2.0)
    assert pace.moment(0.0) == pytest.approx(begin, abs=2.0)
    assert pace.simulated(pace.moment(0.7)) == pytest.approx(0.7)


OWNER = """
import sys, time
sys.path.insert(0, {folder!r})
from simulation_cells import workshop
from robot_cell_planner.simulation.options import SimulationOptions
from robot_cell_planner.simulation.process import Schedule, SimulationProcess, Start
start = Start(*workshop(), SimulationOptions(settle_time=0.0), Schedule())
process = SimulationProcess(start, lambda sample: None, lambda report: None, lambda error: None)
print(process._process.pid, flush=True)
time.sleep(600)
"""


def test_the_process_ends_with_its_owner_even_if_it_hangs():
    """The process is suspended, as in a compiled library that does not return, when its owner is killed."""
    code = OWNER.format(folder=str(SUPPORT))
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pid = int(owner.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    ended = os.pidfd_open(pid)
    owner.kill()
    owner.communicate()
    assert select.select([ended], [], [], PATIENCE)[0], "it runs on without its owner"
    os.close(ended)
