"""Grasp constraints: bodies held by grippers.

A grasp begins with friction: links press on a body from opposite sides until it is stationary between them. Friction
alone would hold boxes, but other shapes creep, rotate or lock, because Bullet keeps contact normals while the hand
rotates. A body that is gripped steadily is therefore attached to the hand by a constraint with the strength of the
grasp's friction. While it lasts, collision between the body and the gripping links is disabled, and the joints that
press on the body stop. It ends when one of these joints is commanded to open, or when the body slips.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ..model.value import Vector3
from .engines.base import Engine, ObjectContact
from .motors import Motors
from .multibody.multibodies import Multibodies, Multibody, PartFrame
from .setpoints import Setpoint

STEADY = 0.02  # [s] min duration of contact before a body counts as grasped
MIN_FORCE = 0.5  # [N] min force of each link
OPPOSED = 0.3  # max norm of the total force, as a fraction of the sum of the magnitudes
SLIPPED = 0.005  # [m] max motion of a body relative to the hand before it counts as slipped


@dataclass(frozen=True)
class Grip:
    """Links that press on a body from opposite sides.

    Attributes:
        hand: Common ancestor part of the links.
        links: Names and forces [N] of the links.
        stops: Setpoints of the joints between hand and links, each with the direction in which it presses.
        force: Sum of the force magnitudes [N].
    """

    body: str
    hand: PartFrame
    links: tuple[tuple[str, float], ...]
    stops: tuple[tuple[Setpoint, float], ...]
    force: float


class Grasp:
    """Body attached to a hand by a grasp constraint."""

    def __init__(self, engine: Engine, grip: Grip, body: PartFrame, friction: float) -> None:
        self.grip = grip
        self._engine = engine
        self._body = body
        self._hand_T_body = engine.pose(grip.hand).inverse() @ engine.pose(body)
        self._constraint = engine.fix(grip.hand, body, friction * grip.force)
        self._let_pass(True)
        for setpoint, direction in grip.stops:
            setpoint.stop(direction)

    def _let_pass(self, passes: bool) -> None:
        for link, _ in self.grip.links:
            self._engine.let_pass(link, self.grip.body, passes)

    def has_ended(self) -> bool:
        """Return whether a joint is commanded to open, or the body slipped in the hand."""
        if any(setpoint.is_commanded_away for setpoint, _ in self.grip.stops):
            return True
        hand_T_body = self._engine.pose(self.grip.hand).inverse() @ self._engine.pose(self._body)
        return math.dist(hand_T_body.position, self._hand_T_body.position) > SLIPPED

    def release(self, others: Iterable[Grasp]) -> None:
        """Remove the grasp constraint and enable collision again; joints that press in other grasps remain stopped."""
        self._engine.unfix(self._constraint)
        self._let_pass(False)
        needed = {setpoint for other in others for setpoint, _ in other.grip.stops}
        for setpoint, _ in self.grip.stops:
            if setpoint not in needed:
                setpoint.end_stop()

    def contacts(self) -> Iterator[ObjectContact]:
        """Return the grasp as contacts, with its initial forces."""
        for link, force in self.grip.links:
            first, second = sorted((link, self.grip.body))
            yield ObjectContact(first, second, 0.0, force, (0.0, 0.0, 0.0))


class Grasps:
    """All current grasps, and candidates for grasps."""

    def __init__(
        self, engine: Engine, multibodies: Multibodies, motors: Motors, friction: float, time_step: float
    ) -> None:
        self._engine = engine
        self._multibodies = multibodies
        self._motors = motors
        self._friction = friction
        self._steady = max(1, round(STEADY / time_step))
        self._lasting: dict[tuple[str, int], int] = {}  # number of steps that a body has been gripped by a multibody
        self._grasps: dict[tuple[str, int], Grasp] = {}  # by body and multibody of the hand
        self.refresh()

    def refresh(self) -> None:
        """Take note of the multibodies that there are now."""
        items = self._multibodies.numbered
        self._free = {item.name for item in items.values() if not item.fixed}
        self._jointed = {number for number, item in items.items() if any(part.joint for part in item.parts)}

    @property
    def bodies(self) -> tuple[str, ...]:
        """Return the names of the grasped bodies."""
        return tuple(sorted({body for body, _ in self._grasps}))

    def let_go(self, body: str) -> None:
        """End all grasps of a body."""
        for key in [key for key in self._grasps if key[0] == body]:
            self._release(key)

    def _release(self, key: tuple[str, int]) -> None:
        self._grasps.pop(key).release(self._grasps.values())

    def contacts(self) -> list[ObjectContact]:
        """Return the contacts of the grasped bodies."""
        return [contact for key in sorted(self._grasps) for contact in self._grasps[key].contacts()]

    def update(self, contacts: Collection[ObjectContact]) -> None:
        """Release grasps that have ended and create new ones; `contacts`: of the current step."""
        if len(contacts) < 2 and not self._grasps:  # a grip has two links
            self._lasting = {}
            return
        for key in sorted(self._grasps):
            if self._grasps[key].has_ended():
                self._release(key)
        grips = {(grip.body, grip.hand.multibody): grip for grip in self._grips(contacts)}
        self._lasting = {key: self._lasting.get(key, 0) + 1 for key in grips}
        for key, steps in self._lasting.items():
            if steps >= self._steady:
                grip = grips[key]
                self._grasps[key] = Grasp(self._engine, grip, self._multibodies.frames[grip.body], self._friction)

    def _grips(self, contacts: Iterable[ObjectContact]) -> Iterator[Grip]:
        pressing: dict[tuple[str, int], list[tuple[str, float, Vector3]]] = {}
        frames = self._multibodies.frames
        for contact in contacts:
            if contact.force < MIN_FORCE:
                continue
            for body, other, sign in ((contact.first, contact.second, 1.0), (contact.second, contact.first, -1.0)):
                key = body, frames[other].multibody
                if body in self._free and key[1] in self._jointed and key not in self._grasps:
                    x, y, z = contact.push
                    entry = (other, contact.force, (sign * x, sign * y, sign * z))
                    pressing.setdefault(key, []).append(entry)
        for (body, multibody), entries in pressing.items():
            force = sum(entry[1] for entry in entries)
            rest = math.hypot(*(sum(axis) for axis in zip(*(entry[2] for entry in entries), strict=True)))
            if len(entries) > 1 and rest <= OPPOSED * force:
                hand, joints = self._hand(multibody, [entry[0] for entry in entries])
                stops = tuple(self._stops(joints))
                if stops:
                    yield Grip(body, hand, tuple(entry[:2] for entry in entries), stops, force)

    def _hand(self, multibody: int, links: list[str]) -> tuple[PartFrame, list[str]]:
        """Return the common ancestor part of the links, and the joints between it and them."""
        item = self._multibodies.numbered[multibody]
        chains = [list(_chain(item, self._multibodies.frames[link].part)) for link in links]
        hand = next(part for part in chains[0] if all(part in chain for chain in chains))
        joints: dict[str, None] = {}
        for chain in chains:
            for part in chain[: chain.index(hand)]:
                joint = item.parts[part].joint
                if joint is not None:
                    joints[joint.source or joint.name] = None
        return PartFrame(multibody, hand), list(joints)

    def _stops(self, joints: list[str]) -> Iterator[tuple[Setpoint, float]]:
        """Return the joints that press against an object, with their directions."""
        for name in joints:
            setpoint = self._motors.setpoint(name)
            if setpoint.pressing:
                yield setpoint, setpoint.pressing


def _chain(multibody: Multibody, part: int) -> Iterator[int]:
    """Return a part and its ancestors, starting at the part."""
    while part >= 0:
        yield part
        part = multibody.parts[part].parent
