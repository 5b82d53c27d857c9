"""Simulated time that a test runs, stops and sets, and a robot that lives in it."""

import threading
import time

import numpy as np
from fake_robot import FakeRobot
from rclpy.qos import qos_profile_sensor_data
from recorded import positions, stamps
from rosgraph_msgs.msg import Clock

from robot_cell_planner.nodes.conversions.basic import time_from_message, time_to_message

SECOND = 1_000_000_000
BEGIN = 5000 * SECOND  # [ns]


class SimulatedTime:
    """Time that passes at a rate. published: the latest time on /clock [ns]."""

    def __init__(self, node, rate=1.0):
        self.rate, self._present, self._last = rate, BEGIN, time.monotonic()
        self._guard = threading.Lock()
        self.published = BEGIN
        self._node, self._publisher = node, None
        self.begin()

    def begin(self):
        """Publish it."""
        if self._publisher is None:
            self._publisher = self._node.create_publisher(Clock, "/clock", qos_profile_sensor_data)

    def now(self):
        """The present time [ns]."""
        with self._guard:
            now = time.monotonic()
            self._present += round(self.rate * (now - self._last) * SECOND)
            self._last = now
            return self._present

    def run(self, rate):
        """Let time pass at a rate; 0: it stands."""
        self.now()
        self.rate = rate

    def set_by(self, seconds):
        self.now()
        with self._guard:
            self._present += round(seconds * SECOND)

    def publish(self, stamp):
        if self._publisher is not None:
            self.published = stamp
            self._publisher.publish(Clock(clock=time_to_message(stamp)))

    def end(self):
        """Publish it no longer."""
        publisher, self._publisher = self._publisher, None
        self._node.destroy_publisher(publisher)


class SimulatedRobot(FakeRobot):
    """A robot that stamps its messages with simulated time, and publishes that with each of them.

    keeps_time: publish time while it is silent, too. arrivals: stamp of each command, and the latest published time at
    its arrival [ns].
    """

    def __init__(self, node, simulated, joints):
        self.simulated, self.arrivals, self.fastest, self.keeps_time = simulated, [], 80.0, False
        super().__init__(node, joints)

    def _on_command(self, message):
        self.arrivals.append((time_from_message(message.header.stamp), self.simulated.published))
        super()._on_command(message)

    def _publish(self):
        if self.silent and self.keeps_time:
            self._stamp()
        super()._publish()

    def heal(self):
        super().heal()
        self.keeps_time = False

    def _stamp(self):
        stamp = self.simulated.now()
        self.simulated.publish(stamp)
        return time_to_message(stamp)


def check_path(commands, joints, start, end, duration):
    """Each command is the point of `fake_robot.swing` at the simulated time that has passed since the first one."""
    times = stamps(commands)
    fractions = np.minimum((times - times[0]) / duration, 1.0)[:, None]
    blend = 10 * fractions**3 - 15 * fractions**4 + 6 * fractions**5
    expected = np.asarray(start) + blend * (np.asarray(end) - start)
    np.testing.assert_allclose(positions(commands, joints), expected, atol=1e-6)
    assert fractions[-1] == 1.0
