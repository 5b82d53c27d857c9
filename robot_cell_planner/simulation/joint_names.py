"""Names of the joints of a simulation: full ones, and those of tools' joints without their tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import InvalidRequestError, UnknownNameError
from ..model.name_suggestions import listed, unknown_name
from .multibody.multibodies import JointModel

STAGE = "simulation"


@dataclass(frozen=True)
class JointNames:
    """Names of joints. Joints of tools have a full name, "tool/joint", and the short one of their description, which
    is accepted and published if no other joint has it.

    Attributes:
        all: Published names of all joints.
        driven: Published names of the joints with a motor.
        full: Full name of a joint with a motor, by each name that is accepted.
        published: Published name of a joint with a motor, by each name that is accepted.
        ambiguous: Full names of the joints that have a short name, if there are several.
        all_full: Full names of all joints, in the order of `all`.
    """

    all: tuple[str, ...]
    driven: tuple[str, ...]
    full: Mapping[str, str]
    published: Mapping[str, str]
    ambiguous: Mapping[str, tuple[str, ...]]
    all_full: tuple[str, ...] = ()

    @classmethod
    def of(cls, joints: Iterable[JointModel]) -> JointNames:
        """Return the names of joints."""
        joints = list(joints)
        sharing: dict[str, list[str]] = {}
        for joint in joints:
            sharing.setdefault(joint.own_name, []).append(joint.name)
        name_of = {joint.name: joint.own_name if len(sharing[joint.own_name]) == 1 else joint.name for joint in joints}
        full = {name: joint.name for joint in joints if not joint.source for name in (name_of[joint.name], joint.name)}
        return cls(
            tuple(name_of.values()),
            tuple(name_of[joint.name] for joint in joints if not joint.source),
            full,
            {name: name_of[found] for name, found in full.items()},
            {own: tuple(names) for own, names in sharing.items() if len(names) > 1 and own not in name_of},
            tuple(name_of),
        )

    def full_name(self, name: str) -> str:
        """Return the full name of a joint with a motor from any of its names.

        Raises:
            UnknownNameError: A joint does not exist, or is a mimic joint.
            InvalidRequestError: Several joints have this short name.
        """
        found = self.full.get(name)
        if found is None:
            self._refuse_ambiguous((name,), STAGE)
            raise UnknownNameError(self._unknown(name), stage=STAGE, subjects=(name,))
        return found

    def published_names(self, names: Sequence[str], stage: str) -> tuple[str, ...]:
        """Return names of joints as they are published; unknown ones, as of other robots, as they are.

        Raises:
            InvalidRequestError: Several joints have one of the short names, or a joint has both of its names here.
        """
        if self.ambiguous:
            self._refuse_ambiguous(names, stage)
        found = tuple([self.published.get(name, name) for name in names])
        for full, name in zip(names, found, strict=True):
            if full != name and name in names:
                text = f"joint {name} is named more than once: also as {full}"
                raise InvalidRequestError(text, stage=stage, subjects=(name, full))
        return found

    def unknown(self, names: Iterable[str]) -> dict[str, str]:
        """Return a sentence for each name that is not of a joint with a motor."""
        return {name: self._unknown(name) for name in names if name not in self.full}

    def _unknown(self, name: str) -> str:
        if name in self.all:
            return f"joint {name} is a mimic joint, which follows another one"
        return unknown_name(f"driven joint {name!r}", name, self.full)

    def _refuse_ambiguous(self, names: Iterable[str], stage: str) -> None:
        for name in names:
            if name in self.ambiguous:
                text = f"joint {name} is ambiguous; use one of {listed(self.ambiguous[name])}"
                raise InvalidRequestError(text, stage=stage, subjects=(name, *self.ambiguous[name]))
