"""Measured joint values of a cell, from `joint_states`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from copy import copy

from frozendict import frozendict

from ...errors import StaleStateError, UnknownNameError, Value
from ...model.cell import RobotCell
from ...model.name_suggestions import listed, unknown_name
from ...model.state import RobotCellState
from ...model.value import MAX_JOINT_VALUE
from ...scene.scene import joint_names
from .joint_states import JointStates

REJECTED = (
    "Check the driver or controller that publishes these joints: positions have to be finite, and as many as the names "
    "in the message."
)


class JointStateMonitor:
    """The latest value and stamp of every joint of a cell, merged from any number of publishers (`JointStates`).

    Messages may contain any subset of the cell's joints, and other joints, in any order. Joints of a tool are named
    "tool/joint" or, if that is unambiguous, by their joint name.
    """

    def __init__(self, cell: RobotCell) -> None:
        self._states = JointStates(repeats=True)
        self._problem = ""
        self._rejected: dict[str, str] = {}  # why the messages with a joint since its latest value were skipped
        self.set_cell(cell)

    def set_cell(self, cell: RobotCell) -> None:
        """Set the cell; values of joints that both cells contain are retained."""
        self._tools = joint_names(cell)
        self._aliases = {name: name for name in self._tools}
        short = [name[len(tool) + 1 :] for name, tool in self._tools.items() if tool]
        for name, tool in self._tools.items():
            own = name[len(tool) + 1 :]
            if tool and own not in self._tools and short.count(own) == 1:
                self._aliases[own] = name
        self._states.retain(self._tools)
        self._rejected = {name: text for name, text in self._rejected.items() if name in self._tools}

    def copy(self) -> JointStateMonitor:
        """Return the measured joints of now, which later messages and other cells do not change."""
        found = copy(self)
        found._states, found._rejected = self._states.copy(), dict(self._rejected)
        return found

    def has_robot(self, prefix: str) -> bool:
        """Return whether the names of joints of a robot begin with a prefix."""
        return any(name.startswith(prefix) for name, tool in self._tools.items() if not tool)

    def update(self, names: Sequence[str], positions: Sequence[float], stamp: int) -> bool:
        """Merge a message; stamp [ns]. Returns whether it updates any value."""
        joints = [self._aliases.get(name) for name in names]
        updated = self._states.merge(joints, positions, stamp)
        if self._rejected:
            for name, _, _ in updated:
                self._rejected.pop(name, None)
        if len(positions) and len(names) != len(positions):  # without positions it may contain only efforts
            self._problem = f"a message contains {len(names)} names and {len(positions)} positions"
            self._rejected.update((name, self._problem) for name in joints if name is not None)
        for name, position in self._states.take_invalid():
            self._problem = f"joint {name} is at {position:g}, expected at most {MAX_JOINT_VALUE:g}"
            self._rejected[name] = f"{name} is at {position:g}"
        return bool(updated)

    def take_problem(self) -> str:
        """Return the problem of the latest invalid value, once; "" without one."""
        problem, self._problem = self._problem, ""
        return problem

    def rejected(self, names: Iterable[str]) -> str:
        """Return why joint states with these joints were skipped since their latest values; "" if none were."""
        found = (self._rejected.get(self._aliases.get(name, name), "") for name in names)
        return listed(dict.fromkeys(filter(None, found)))

    def stale(self, names: Sequence[str], stamp: int, waited: float) -> StaleStateError:
        """Return the error of joints that were not measured at `stamp` [ns] or later within a time [s]."""
        behind = self.behind(names, stamp)
        oldest = self.oldest(behind)
        joints, rejected = ", ".join(behind[:6]), self.rejected(behind)
        why, remedy = (f"; received joint_states are rejected: {rejected}", REJECTED) if rejected else ("", "")
        if not oldest:
            text = f"joints {joints} were not measured within {waited:g} s{why}"
            return StaleStateError(text, subjects=behind, remedy=remedy)
        age = (stamp - oldest) * 1e-9
        text = f"joints {joints}: the latest stamp is {age:.3f} s older than requested, after {waited:g} s{why}"
        return StaleStateError(text, subjects=behind, values=(Value("behind by", age, unit="s"),), remedy=remedy)

    def unmeasured(self, names: Collection[str], by_scene_node: Set[str], waited: float) -> StaleStateError:
        """Return the error of joints of robots that were not measured within a time [s]. by_scene_node: those of them
        that the scene node has measured."""
        missing = tuple(sorted(by_scene_node - self.values.keys()))
        rejected = self.rejected(missing or sorted(names))
        if missing:
            text = f"the scene node has received joint_states with {', '.join(missing[:6])}, but this node has not"
            text += f" within {waited:g} s"
            text += "" if rejected else ": start their publisher, or give their values in the request"
        else:
            contained = "valid position of a joint" if rejected else "joint"
            text = f"joint_states has a publisher, but contained no {contained} of the robots within {waited:g} s"
        why, remedy = (f"; received joint_states are rejected: {rejected}", REJECTED) if rejected else ("", "")
        return StaleStateError(text + why, subjects=missing or ("joint_states",), remedy=remedy)

    @property
    def skipped(self) -> int:
        """Number of values and messages that were skipped."""
        return self._states.skipped

    @property
    def values(self) -> dict[str, float]:
        """Measured values by joint, those of tools as "tool/joint"."""
        return {name: measured.position for name, measured in self._states.latest.items()}

    def _stamp(self, name: str) -> int:
        measured = self._states.latest.get(self._aliases.get(name, name))
        return 0 if measured is None else measured.stamp

    def oldest(self, names: Sequence[str] = ()) -> int:
        """Return the oldest stamp [ns] among the latest ones of the named joints (without names: of all measured ones);
        0 if one of them was not measured, or none of all was."""
        if names:
            return min(map(self._stamp, names))
        return min((measured.stamp for measured in self._states.latest.values()), default=0)

    def newest(self) -> int:
        """Return the newest stamp [ns] of all joints; 0 if none was measured."""
        return max((measured.stamp for measured in self._states.latest.values()), default=0)

    def behind(self, names: Sequence[str], stamp: int) -> tuple[str, ...]:
        """Return the joints that were not measured at `stamp` [ns] or later."""
        return tuple(name for name in names if self._stamp(name) < stamp)

    def check(self, names: Sequence[str]) -> None:
        """Check the names of joints.

        Raises:
            UnknownNameError: A name is unknown; suggests similar ones.
        """
        for name in names:
            if name not in self._aliases:
                raise UnknownNameError(unknown_name(f"joint {name!r}", name, self._aliases), subjects=(name,))

    @property
    def outdated(self) -> tuple[str, ...]:
        """Joints whose latest values are not where they are now: joint states since then were rejected."""
        return tuple(name for name in self._rejected if name in self._states.latest)

    def applied_to(self, state: RobotCellState, values: Mapping[str, float] | None = None) -> RobotCellState:
        """Return the state with measured values replaced. values: earlier `values` instead of the latest ones; those of
        joints that the cell does not have any more are ignored."""
        robots: dict[str, float] = {}
        tools: dict[str, dict[str, float]] = {}
        for name, value in (self.values if values is None else values).items():
            tool = self._tools.get(name)
            if tool is None:
                continue
            if tool:
                tools.setdefault(tool, {})[name[len(tool) + 1 :]] = value
            else:
                robots[name] = value
        if robots:
            state = state.with_configuration(robots)
        for tool, values in tools.items():
            if tool in state.tools:
                state = state.with_tool(tool, state.tools[tool].with_configuration(frozendict(values)))
        return state
