"""Lists of what was removed from a cell, in which robots, objects and composite groups may have equal names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.cell import RobotCell

# The kinds by their fields in a cell, in the order in which `Remove` looks for a name.
KINDS = {"tools": "tool", "bodies": "body", "frames": "frame", "groups": "group", "robots": "robot"}
FIELDS = {kind: field for field, kind in KINDS.items()}


def removed_entries(old: RobotCell, new: RobotCell) -> tuple[str, ...]:
    """Return an entry for each name of `old` that is missing in `new` among those of its kind.

    An entry is the name alone, or "kind/name" if `old` has the name in several kinds, or if the name begins like that.
    """
    return tuple(
        _entry(old, field, name)
        for field in KINDS
        if getattr(old, field) is not getattr(new, field)
        for name in getattr(old, field)
        if name not in getattr(new, field)
    )


def removed_names(cell: RobotCell, entries: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the names that are removed from each field of a cell; entries of unknown names remove nothing.

    Earlier versions listed names alone: one of several kinds is removed once for each time it is listed, in the order
    of `KINDS`.
    """
    removed: dict[str, set[str]] = {field: set() for field in KINDS}
    for entry in entries:
        kind, _, name = entry.partition("/")
        if kind in FIELDS and name in getattr(cell, FIELDS[kind]):
            removed[FIELDS[kind]].add(name)
            continue
        for field, names in removed.items():
            if entry in getattr(cell, field) and entry not in names:
                names.add(entry)
                break
    return {field: frozenset(names) for field, names in removed.items()}


def _entry(cell: RobotCell, field: str, name: str) -> str:
    having: list[Mapping[str, object]] = [getattr(cell, other) for other in KINDS]
    if sum(name in names for names in having) > 1 or name.partition("/")[0] in FIELDS:
        return f"{KINDS[field]}/{name}"
    return name
