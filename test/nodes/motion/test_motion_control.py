"""Requests to pause, resume and stop several motions: none that was meant goes on unnoticed."""

import asyncio
from types import SimpleNamespace

import pytest

from robot_cell_planner import srv
from robot_cell_planner.errors import NotSupportedError, StopRequestedError
from robot_cell_planner.nodes.common.cancellation import CancellationToken
from robot_cell_planner.nodes.common.exclusive_access import WHOLE, Claim, ExclusiveAccess
from robot_cell_planner.nodes.execution.gripper import GripperServer
from robot_cell_planner.nodes.motion.independent_robots import IndependentRobots
from robot_cell_planner.nodes.motion.motion_control import MotionControl

KINDS = srv.ControlMotion.Request


class FakeMotion:
    def __init__(self, owner, *joints):
        self.goal = SimpleNamespace(owner=owner, joints=joints)
        self.passive, self.paused = False, False

    def pause(self):
        self.paused = True

    def resume(self):
        self.paused = False


class Scaled(FakeMotion):
    """A motion whose controller scales the speed itself."""

    def pause(self):
        raise NotSupportedError("arm scales the speed of the trajectory")

    resume = pause


def run_to_the_end(work):
    """Run a coroutine that does not wait, also within another one."""
    with pytest.raises(StopIteration):
        work.send(None)


class Node:
    """Three robots and two grippers; `motions` have begun, and all clients have access."""

    def __init__(self):
        self.robots = IndependentRobots(("left/", "middle/", "right/"))
        self.motions, self.handlers = [], {}
        self.access = ExclusiveAccess("is executing a motion", lambda: None)
        self.grippers = [ExclusiveAccess("is moving the gripper", lambda: None) for _ in range(2)]
        node = SimpleNamespace(serve=lambda kind, name, handler: self.handlers.update({name: handler}))
        runner = SimpleNamespace(motions=self.motions)
        MotionControl(node, runner, self.access, self.grippers, self.robots, lambda: None)

    def claim(self, owner, *parts):
        self.access.claims += (Claim(owner, CancellationToken(), frozenset(parts)),)

    def move(self, owner, *parts):
        self.claim(owner, *parts)
        self.motions.append(FakeMotion(owner, *(f"{part}elbow" for part in parts)))
        return self.motions[-1]

    def move_scaled(self, owner, part):
        self.claim(owner, part)
        self.motions.append(Scaled(owner, f"{part}elbow"))

    def request(self, command, *robots):
        response = srv.ControlMotion.Response()
        request = KINDS(command=command, robots=list(robots))
        run_to_the_end(self.handlers["execution/control_motion"](request, response))
        return response.owner


@pytest.fixture
def node():
    return Node()


def test_a_pause_names_the_motions_that_have_not_begun_and_pauses_the_others(node):
    first, both = node.move("first", "left/"), node.move("both", "middle/", "right/")
    assert node.request(KINDS.PAUSE) == "first, both"
    assert first.paused
    assert both.paused
    node.request(KINDS.RESUME, "middle", "left")
    node.motions.remove(both)
    with pytest.raises(NotSupportedError, match=r"of both has not begun yet.*; the motion of first is paused") as error:
        node.request(KINDS.PAUSE)
    assert error.value.subjects == ("both",)
    assert first.paused
    with pytest.raises(NotSupportedError, match="of both has not begun yet"):
        node.request(KINDS.PAUSE, "right")
    node.request(KINDS.PAUSE, "left")
    node.request(KINDS.RESUME)  # the other one begins anyway
    assert not first.paused


def test_a_motion_that_cannot_be_paused_does_not_keep_the_others_from_being_paused(node):
    before = node.move("before", "left/")
    node.move_scaled("scaled", "middle/")
    after = node.move("after", "right/")
    with pytest.raises(NotSupportedError, match=r"arm scales the speed.*; the motion of before, after is paused"):
        node.request(KINDS.PAUSE)
    assert before.paused
    assert after.paused
    with pytest.raises(NotSupportedError, match=r"arm scales the speed.*; the motion of before, after is resumed"):
        node.request(KINDS.RESUME)
    assert not before.paused
    assert not after.paused
    with pytest.raises(NotSupportedError, match=r"arm scales the speed of the trajectory$"):
        node.request(KINDS.PAUSE, "middle")


def test_a_stop_stops_the_motions_of_all_grippers(node):
    for access in node.grippers:
        access.claims = (Claim("gripper_command", CancellationToken(), WHOLE),)
    assert node.request(KINDS.STOP) == "gripper_command"
    assert all(isinstance(access.claims[0].token.error, StopRequestedError) for access in node.grippers)


def test_a_stop_also_ends_what_has_not_begun(node):
    node.move("first", "left/")
    node.claim("second", "middle/")
    node.claim("third", "right/")
    assert node.request(KINDS.STOP, "left", "right") == "first, third"
    assert [claim.token.error is not None for claim in node.access.claims] == [True, False, True]


def test_a_stop_also_ends_a_goal_that_waits_for_the_gripper(node):
    """The goal before it is stopped already, and the gripper must not move again after the stop."""
    access, ended, begun = node.grippers[0], CancellationToken(), []
    ended.set(StopRequestedError("replaced by a newer goal for the gripper"))
    access.claims = (Claim("gripper_command", ended, WHOLE),)
    server = object.__new__(GripperServer)
    server._node, server._access, server._waiting = None, access, None

    async def released(node_, token, claims):
        assert claims == access.claims
        node.request(KINDS.STOP)
        begun.append(token.error)

    access.released = released
    asyncio.run(server._take_over(CancellationToken()))
    assert isinstance(begun[0], StopRequestedError)
    assert begun[0].stage == "control motion"
    assert not access.queue
