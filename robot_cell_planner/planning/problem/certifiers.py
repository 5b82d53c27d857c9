"""Certifiers of the motions of a checker, with coarse and with fine spheres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ...collision.certification.certifier import MotionCertifier, cached_certifier, certifiable, certifier_of
from ...collision.checker import CollisionChecker
from ...collision.sphere_model.approximation import FINE_PROTRUSION, PROTRUSION
from ...collision.sphere_model.resolution import ObjectSpheres
from ...errors import GeometryError


class Certifiers:
    """Certifiers of one checker, created on first use. At first the one with coarse spheres is in use.

    Attributes:
        refined: Whether fine spheres are in use.
        exact_states: Whether states are checked by exact distances alone, so that nothing is `at_hand`.
        possible: Whether there may be certifiers: not if the engine decomposes surfaces, or if `certify` is False.
    """

    def __init__(self, checker: CollisionChecker, certify: bool) -> None:
        self._checker = checker
        self.possible = certify and certifiable(checker)
        self.refined = False
        self.exact_states = False

    @property
    def current(self) -> MotionCertifier | None:
        """Certifier in use; None if there may be none, or if a geometry has no sphere model."""
        return self._fine if self.refined else self._coarse

    @property
    def at_hand(self) -> MotionCertifier | None:
        """As `current`, for states; None if it would have to be created, which can take seconds."""
        return self._existing(self.refined)

    @property
    def all_at_hand(self) -> Iterator[MotionCertifier]:
        """Certifier in use, and that with fine spheres, if they exist."""
        for refined in (False, True):
            found = None if self.refined and not refined else self._existing(refined)
            if found is not None:
                yield found

    def _existing(self, refined: bool) -> MotionCertifier | None:
        if self.exact_states or not self.possible:
            return None
        name, protrusion = ("_fine", FINE_PROTRUSION) if refined else ("_coarse", PROTRUSION)
        found: MotionCertifier | None = self.__dict__.get(name)
        return found or cached_certifier(self._checker, protrusion)

    @property
    def finest(self) -> MotionCertifier:
        """Certifier of motions that the spheres in use do not prove free. There must be a certifier."""
        found = self._fine or self._coarse
        assert found is not None
        return found

    @property
    def coarse_objects(self) -> Mapping[str, ObjectSpheres]:
        """Objects with fewer spheres than the certifier with coarse spheres requests, if it was created, by name."""
        coarse: MotionCertifier | None = self.__dict__.get("_coarse")
        return coarse.scene.coarse if coarse is not None else {}

    @cached_property
    def _coarse(self) -> MotionCertifier | None:
        return self._made(PROTRUSION)

    @cached_property
    def _fine(self) -> MotionCertifier | None:
        return self._made(FINE_PROTRUSION)

    def _made(self, protrusion: float) -> MotionCertifier | None:
        if not self.possible:
            return None
        try:
            return certifier_of(self._checker, protrusion)
        except GeometryError:
            return None
