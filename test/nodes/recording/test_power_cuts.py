"""Bags survive a loss of power: finished ones whole, others up to when the recorder last waited for the disk."""

from types import SimpleNamespace

import pytest
from power_cut import Disk
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from robot_cell_planner.nodes.recording import recorder as recorder_module
from robot_cell_planner.nodes.recording.bag import Bag
from robot_cell_planner.nodes.recording.recorder import SYNC_FRACTION, SYNC_PERIOD, Recorder, RecordOptions


@pytest.fixture
def disk(monkeypatch, tmp_path):
    return Disk(monkeypatch, tmp_path)


def write(bag, topic, number):
    bag.write(topic, 10**18 + number, serialize_message(String(data=str(number))))


def test_a_finished_bag_survives(disk, tmp_path):
    with Bag(tmp_path / "new" / "bag", {}) as bag:
        topic = bag.add("/texts", "std_msgs/msg/String", [QoSProfile(depth=1)])
        for number in range(10):
            write(bag, topic, number)
    assert disk.lost() == []


def test_what_was_synchronised_survives_in_an_unfinished_bag(disk, tmp_path):
    bag = Bag(tmp_path / "bag", {})
    topic = bag.add("/texts", "std_msgs/msg/String", [QoSProfile(depth=1)])
    write(bag, topic, 0)
    bag.sync()
    assert disk.lost() == []
    write(bag, topic, 1)
    bag.flush()
    assert disk.lost() == ["bag/bag.mcap"]
    bag.close()


class SlowDisk:
    """Takes the place of a bag. times: at which the recorder began to wait for the disk, for `duration` [s] each."""

    def __init__(self, clock, duration):
        self.clock, self.duration, self.times = clock, duration, []

    def flush(self):
        pass

    def sync(self):
        self.times.append(self.clock.now)
        self.clock.now += self.duration


@pytest.mark.parametrize(("duration", "period"), [(0.001, SYNC_PERIOD), (0.5, 0.5 / SYNC_FRACTION)])
def test_a_recorder_waits_for_the_disk_regularly_but_for_a_small_part_of_the_time(monkeypatch, duration, period):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(recorder_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    bag = SlowDisk(clock, duration)
    recorder = Recorder(None, bag, RecordOptions(), print)
    for _ in range(4000):
        recorder.write_received()
        clock.now += 1 / 64
    gaps = {after - before for before, after in zip(bag.times, bag.times[1:], strict=False)}
    assert len(bag.times) > 2
    assert all(period <= gap <= period + recorder_module.FLUSH_PERIOD + duration for gap in gaps)
