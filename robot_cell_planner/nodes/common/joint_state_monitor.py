"""Measured joint values: what `joint_states` says, freed of its traps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from frozendict import frozendict

from ...errors import UnknownNameError
from ...model.cell import RobotCell
from ...model.name_suggestions import unknown_name
from ...model.state import RobotCellState
from ...model.value import MAX_JOINT_VALUE
from ...scene.scene import joint_names

CLOCK_STEP = 1_000_000_000  # [ns] a stamp older than the last by more than this means that the clock was set back


class JointStateMonitor:
    """The latest value and stamp of every joint, merged from any number of publishers.

    Names may come in any order, be a part of the cell's joints or more than them; the joints of a tool are known as
    "tool/joint" and, where that is clear, by their own name. A value that is not finite, larger than MAX_JOINT_VALUE,
    older than what is known, or in a message whose lists differ in length is passed over and counted.
    """

    def __init__(self, cell: RobotCell) -> None:
        self._stamps: dict[str, int] = {}
        self._values: dict[str, float] = {}
        self._problem = ""
        self.passed_over = 0
        self.set_cell(cell)

    def set_cell(self, cell: RobotCell) -> None:
        """Follow the joints of another cell; values of joints that it shares with the last one are kept."""
        self._tools = joint_names(cell)
        self._aliases = {name: name for name in self._tools}
        short = [name[len(tool) + 1 :] for name, tool in self._tools.items() if tool]
        for name, tool in self._tools.items():
            own = name[len(tool) + 1 :]
            if tool and own not in self._tools and short.count(own) == 1:
                self._aliases[own] = name
        self._values = {name: value for name, value in self._values.items() if name in self._tools}
        self._stamps = {name: stamp for name, stamp in self._stamps.items() if name in self._tools}

    def update(self, names: Sequence[str], positions: Sequence[float], stamp: int) -> bool:
        """Take over a message; stamp in nanoseconds. True if any value was taken."""
        if len(names) != len(positions):
            self.passed_over += 1
            if len(positions):  # without any it may be of efforts alone
                self._problem = f"a message has {len(names)} names and {len(positions)} positions"
            return False
        taken = False
        for alias, position in zip(names, positions, strict=True):
            name = self._aliases.get(alias)
            if name is None:
                continue
            last = self._stamps.get(name, -1)
            if not abs(position) <= MAX_JOINT_VALUE:  # NaN neither
                self.passed_over += 1
                self._problem = f"joint {name} is {position:g}, expected {MAX_JOINT_VALUE:g} at most"
                continue
            if last - CLOCK_STEP <= stamp < last:
                self.passed_over += 1
                continue
            self._values[name], self._stamps[name] = float(position), stamp
            taken = True
        return taken

    def take_problem(self) -> str:
        """What was wrong with the latest value that no publisher should have sent, once; "" if there was none."""
        problem, self._problem = self._problem, ""
        return problem

    @property
    def values(self) -> Mapping[str, float]:
        """Measured values by joint, those of tools as "tool/joint"."""
        return self._values

    def oldest(self, names: Sequence[str] = ()) -> int:
        """Oldest stamp [ns] among the latest ones of the named joints (none named: of all measured); 0 if one of them,
        or none at all, was measured."""
        if names:
            return min(self._stamps.get(self._aliases.get(name, name), 0) for name in names)
        return min(self._stamps.values(), default=0)

    def newest(self) -> int:
        """Newest stamp [ns] of all; 0 if none was measured."""
        return max(self._stamps.values(), default=0)

    def behind(self, names: Sequence[str], stamp: int) -> tuple[str, ...]:
        """Those of the joints that were not measured at `stamp` [ns] or later."""
        return tuple(name for name in names if self._stamps.get(self._aliases.get(name, name), 0) < stamp)

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that no joint has.

        Raises:
            UnknownNameError: says which, and the nearest.
        """
        for name in names:
            if name not in self._aliases:
                raise UnknownNameError(unknown_name(f"joint {name!r}", name, self._aliases), subjects=(name,))

    def applied_to(self, state: RobotCellState) -> RobotCellState:
        """The state with measured values in the place of its own."""
        if not self._values:
            return state
        robots: dict[str, float] = {}
        tools: dict[str, dict[str, float]] = {}
        for name, value in self._values.items():
            tool = self._tools[name]
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
