"""What grippers hold.

A grip begins with friction: links press on a body from opposite sides until it stays put between them. From there on
friction alone would hold boxes, but other shapes creep, turn or lock, since Bullet keeps the normals of their contacts
while a hand turns. So a body that is gripped steadily is fixed to the hand by a constraint that is as strong as the
friction of the grip. While that lasts, the body and the links that grip it do not collide, and the joints that press on
it stop where they are. It ends when one of these joints is commanded to open, or when the body is torn out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model.value import Vector3
from .contacts import Contact
from .engine import Engine
from .motors import Motors
from .multibody import Multibodies, Multibody, Place
from .setpoints import Setpoint

STEADY = 0.02  # [s] that links must have pressed on a body before it counts as gripped
LEAST_FORCE = 0.5  # [N] with which each link must press
OPPOSED = 0.3  # most that the sum of all forces may be, as a share of the sum of their amounts
TORN_OUT = 0.005  # [m] that a body may move against the hand


@dataclass(frozen=True)
class Grip:
    """Links that press on a body from opposite sides.

    hand: the part that carries them all. links: their names and forces [N]. stops: setpoints of the joints between hand
    and links, each with the direction in which it presses. force: sum of the amounts [N].
    """

    body: str
    hand: Place
    links: tuple[tuple[str, float], ...]
    stops: tuple[tuple[Setpoint, float], ...]
    force: float


class Grasp:
    """A body that is fixed to a hand."""

    def __init__(self, engine: Engine, grip: Grip, body: Place, friction: float) -> None:
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
        """Whether a joint is told to open, or the body is elsewhere in the hand."""
        if any(setpoint.is_told_away for setpoint, _ in self.grip.stops):
            return True
        hand_T_body = self._engine.pose(self.grip.hand).inverse() @ self._engine.pose(self._body)
        return math.dist(hand_T_body.position, self._hand_T_body.position) > TORN_OUT

    def release(self) -> None:
        self._engine.unfix(self._constraint)
        self._let_pass(False)
        for setpoint, _ in self.grip.stops:
            setpoint.end_stop()

    def contacts(self) -> Iterator[Contact]:
        """The grip as contacts, with the forces that it began with."""
        for link, force in self.grip.links:
            first, second = sorted((link, self.grip.body))
            yield Contact(first, second, 0.0, force, (0.0, 0.0, 0.0))


class Grasps:
    """All bodies that are held, and those that are about to be."""

    def __init__(
        self, engine: Engine, assemblies: Multibodies, motors: Motors, friction: float, time_step: float
    ) -> None:
        self._engine = engine
        self._assemblies = assemblies
        self._motors = motors
        self._friction = friction
        self._steady = max(1, round(STEADY / time_step))
        self._bodies = {item.name for item in assemblies.items if not item.fixed}
        self._lasting: dict[tuple[str, int], int] = {}  # steps that a grip on a body by an assembly has lasted
        self._holds: dict[str, Grasp] = {}

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies that are held."""
        return tuple(sorted(self._holds))

    def contacts(self) -> list[Contact]:
        """The grips of the bodies that are held."""
        return [contact for body in self.bodies for contact in self._holds[body].contacts()]

    def update(self, contacts: Iterable[Contact]) -> None:
        """Let go of what is not held any more, and take hold of what is gripped; contacts: of the present step."""
        for body in self.bodies:
            if self._holds[body].has_ended():
                self._holds.pop(body).release()
        grips = {(grip.body, grip.hand.assembly): grip for grip in self._grips(contacts)}
        self._lasting = {key: self._lasting.get(key, 0) + 1 for key in grips}
        for key, steps in self._lasting.items():
            if steps >= self._steady:
                grip = grips[key]
                self._holds[grip.body] = Grasp(self._engine, grip, self._assemblies.places[grip.body], self._friction)

    def _grips(self, contacts: Iterable[Contact]) -> Iterator[Grip]:
        pressing: dict[tuple[str, int], list[tuple[str, float, Vector3]]] = {}
        for contact in contacts:
            for body, other, sign in ((contact.first, contact.second, 1.0), (contact.second, contact.first, -1.0)):
                if body in self._bodies - set(self._holds) and contact.force >= LEAST_FORCE:
                    x, y, z = contact.push
                    entry = (other, contact.force, (sign * x, sign * y, sign * z))
                    pressing.setdefault((body, self._assemblies.places[other].assembly), []).append(entry)
        for (body, assembly), entries in pressing.items():
            force = sum(entry[1] for entry in entries)
            rest = math.hypot(*(sum(axis) for axis in zip(*(entry[2] for entry in entries), strict=True)))
            if len(entries) > 1 and rest <= OPPOSED * force:
                hand, joints = self._hand(assembly, [entry[0] for entry in entries])
                stops = tuple(self._stops(joints))
                if stops:
                    yield Grip(body, hand, tuple(entry[:2] for entry in entries), stops, force)

    def _hand(self, assembly: int, links: list[str]) -> tuple[Place, list[str]]:
        """The part that carries all of the links, and the joints between it and them."""
        item = self._assemblies.items[assembly]
        chains = [list(_chain(item, self._assemblies.places[link].part)) for link in links]
        hand = next(part for part in chains[0] if all(part in chain for chain in chains))
        joints: dict[str, None] = {}
        for chain in chains:
            for part in chain[: chain.index(hand)]:
                joint = item.parts[part].joint
                if joint is not None:
                    joints[joint.source or joint.name] = None
        return Place(assembly, hand), list(joints)

    def _stops(self, joints: list[str]) -> Iterator[tuple[Setpoint, float]]:
        """Those of the joints that press against something, with the directions in which they do."""
        for name in joints:
            setpoint = self._motors.setpoint(name)
            if setpoint.pressing:
                yield setpoint, setpoint.pressing


def _chain(assembly: Multibody, part: int) -> Iterator[int]:
    """A part and all that carry it, outwards in."""
    while part >= 0:
        yield part
        part = assembly.parts[part].parent
