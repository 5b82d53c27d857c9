"""Planners by name: those of this library, those that installed distributions offer, and those added by a program."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from ...errors import DuplicateNameError, InvalidRequestError, NotSupportedError
from ..problem.planner_info import PlannerInfo
from .planner import Planner

GROUP = "robot_cell_planner.planners"  # of entry points: the name of a planner = its class, or an instance
STAGE = "request"


class Planners(Mapping[str, Planner]):
    """Planners by name.

    Those of installed distributions are loaded when they are first used, so that programs which do not use them do not
    import their libraries.

    Args:
        own: Planners of this library, whose names no others can have.
    """

    def __init__(self, own: Sequence[Planner]) -> None:
        self._own = tuple(planner.info.name for planner in own)
        self._planners = {planner.info.name: planner for planner in own}

    def add(self, planner: Planner) -> None:
        """Add a planner for this process alone, in place of an added one of the same name.

        Raises:
            InvalidRequestError: It is not a planner.
            DuplicateNameError: A planner of this library or of an installed distribution has its name.
        """
        problem = _problem_of(planner)
        if problem:
            raise InvalidRequestError(f"{planner!r} is not a planner: {problem}", stage=STAGE)
        name = planner.info.name
        if name in self._own or name in self._installed:
            raise DuplicateNameError(f"there is a planner {name!r} already", stage=STAGE, subjects=(name,))
        self._planners[name] = planner

    def __getitem__(self, name: str) -> Planner:
        """Return the planner of a name.

        Raises:
            KeyError: There is none.
            NotSupportedError: It cannot be loaded.
        """
        found = self._planners.get(name)
        if found is None:
            found = self._planners[name] = _loaded(name, self._installed[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._planners or name in self._installed

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys((*self._planners, *self._installed))

    def __len__(self) -> int:
        return len(dict.fromkeys(self))

    def loaded(self) -> tuple[list[Planner], list[NotSupportedError]]:
        """Return all planners that can be loaded, and the errors of the others."""
        planners, errors = [], []
        for name in self:
            try:
                planners.append(self[name])
            except NotSupportedError as error:
                errors.append(error)
        return planners, errors

    @cached_property
    def _installed(self) -> dict[str, list[EntryPoint]]:
        """Entry points by the name of their planner, read on first use."""
        found: dict[str, list[EntryPoint]] = {}
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, _source(entry))):
            if entry.name in self._own:
                text = f"planner {entry.name!r} of {_source(entry)} is not used: this library has one of that name"
                warnings.warn(text, RuntimeWarning, stacklevel=2)
                continue
            found.setdefault(entry.name, []).append(entry)
        return found


def _loaded(name: str, entries: Sequence[EntryPoint]) -> Planner:
    """Load the planner of an entry point."""
    sources = ", ".join(map(_source, entries))
    if len(entries) > 1:
        text = f"planner {name!r} is offered by several distributions: {sources}; uninstall all but one"
        raise NotSupportedError(text, stage=STAGE, subjects=(name,))
    try:
        offered = entries[0].load()
        planner: Planner = offered() if isinstance(offered, type) else offered
        problem = _problem_of(planner) or (
            "" if planner.info.name == name else f"its name is {planner.info.name!r}, that of its entry point {name!r}"
        )
    except (Exception, SystemExit) as error:  # code of others, such as one that exits without its licence
        problem = f"{type(error).__name__}: {error}"
        raise _not_loaded(name, sources, problem) from error
    if problem:
        raise _not_loaded(name, sources, problem)
    return planner


def _not_loaded(name: str, source: str, problem: str) -> NotSupportedError:
    return NotSupportedError(f"planner {name!r} of {source} cannot be loaded: {problem}", stage=STAGE, subjects=(name,))


def _problem_of(planner: object) -> str:
    """Return what a planner lacks; "" for nothing."""
    if not isinstance(getattr(planner, "info", None), PlannerInfo):
        return "its info is not a PlannerInfo"
    return "" if callable(getattr(planner, "solve", None)) else "it has no method solve"


def _source(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.dist.name} ({entry.value})"
