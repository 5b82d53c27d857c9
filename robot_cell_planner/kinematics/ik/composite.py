"""Inverse kinematics of composite groups: one target for each of several robots at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...errors import (
    AllSolutionsInCollisionError,
    InvalidRequestError,
    RobotCellError,
    TimedOutError,
    UnknownNameError,
    Value,
)
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.joint_arrays import check_distinct
from ...model.name_suggestions import unknown_name
from ...model.pose import Pose
from ...model.state import RobotCellState
from ...model.value import WORLD
from ..chain import joints_to
from ..forward import forward_kinematics
from ..model import cell_model
from ..targets import Target, TargetMode
from .failure import IkFailure, IkFailureReason
from .options import IkOptions, IkOrder, IkResult
from .solver import Explanation, Validity, inverse_kinematics

Array = NDArray[np.float64]
DEFAULTS = IkOptions()
# Max number of solutions of one group, and of combinations, nearest to the start, that are checked.
MAX_OF_GROUP = 64
MAX_COMBINATIONS = 4096


@public
def composite_forward_kinematics(
    cell: RobotCell, state: RobotCellState, group: str, mode: TargetMode = TargetMode.ROBOT
) -> dict[str, Pose]:
    """Compute world_T_frame of each planning group that a composite group consists of, by group name.

    Args:
        cell: Models of the cell.
        state: Configuration and attachments.
        group: Composite group, or names of groups joined with "+"; also a group of one robot.
        mode: Selects the frame of each group.

    Raises:
        TargetModeMismatchError, ModelError: A group has no such frame.
        UnknownNameError: A group does not exist.
    """
    return {part: forward_kinematics(cell, state, part, mode) for part in cell.group_parts(group)}


@dataclass(frozen=True, eq=False)
class _Combination:
    """Solutions of the groups solved so far: values by variable, results with the row of each, squared distance to the
    start."""

    values: dict[str, float]
    rows: tuple[tuple[IkResult, int], ...] = ()
    distance: float = 0.0


@public
def composite_inverse_kinematics(
    cell: RobotCell,
    state: RobotCellState,
    targets: Mapping[str, Target],
    group: str = "",
    options: IkOptions | None = None,
    is_valid: Validity | None = None,
    explain: Explanation | None = None,
    variables: Sequence[str] = (),
) -> IkResult:
    """Compute configurations of a composite group in which each of its planning groups reaches its own target.

    Groups without a target keep the values of the state. A target may refer to a frame that another group moves, such
    as the workpiece that the other robot carries: it is then solved for where that group's target takes it. Solutions
    are combinations of those of the groups, nearest to the start first unless the options specify another order; at
    most 64 of each group and 4096 combinations are considered.

    Args:
        cell: Models of the cell.
        state: Start configuration and attachments.
        targets: Target by planning group, or by names joined with "+" of groups that form a chain, such as a rail and
            the arm on it.
        group: Composite group, or names of groups joined with "+"; "" for the groups of `targets`.
        options: Search options; `max_solutions` counts combinations, and `timeout` applies to all groups together.
        is_valid: Returns whether a configuration (n,) of all variables is allowed (collision free).
        explain: Returns the problems of a configuration, for the error.
        variables: Variables of the group that may move, in the order of the returned solutions; () for all.

    Raises:
        OutOfReachError, BeyondJointLimitsError, InverseKinematicsError: A target has no solution; the message names its
            group, and `partial` is an IkFailure.
        AllSolutionsInCollisionError: No combination is valid.
        TimedOutError: The time limit ended the search.
        UnknownNameError: A group or joint does not exist, or a target is for another group.
        InvalidRequestError: There is no target, two are for one joint, or targets refer to each other in a cycle.
        RobotCellError: As `inverse_kinematics`.
    """
    search = _CompositeSearch(cell, state, targets, group, options or DEFAULTS, tuple(variables))
    return search.result(is_valid, explain)


class _CompositeSearch:
    def __init__(
        self,
        cell: RobotCell,
        state: RobotCellState,
        targets: Mapping[str, Target],
        group: str,
        options: IkOptions,
        variables: tuple[str, ...],
    ) -> None:
        if not targets:
            raise InvalidRequestError("no target is given")
        group = group or "+".join(targets)
        parts, found = dict.fromkeys((*cell.group_parts(group), *cell.target_groups(group))), cell.group(group)
        for part in targets:
            if part not in parts:
                text = f"{unknown_name(f'group {part!r} of a target', part, parts)} in group {group}"
                raise UnknownNameError(text, subjects=(part, group))
        check_distinct(tuple(name for part in targets for name in cell.group(part).variables))
        for name in variables:
            if name not in found.variables:
                text = unknown_name(f"joint {name!r} of group {group}", name, found.variables)
                raise UnknownNameError(text, subjects=(name, group))
        check_distinct(variables)
        self.cell, self.state, self.targets, self.group, self.options = cell, state, targets, group, options
        self.variables = variables or found.variables
        self.model = cell_model(cell, state)
        self._deadline = None if options.timeout is None else time.monotonic() + options.timeout

    def _time_left(self) -> float | None:
        """Return the time until the deadline [s]; None without one.

        Raises:
            TimedOutError: It has passed.
        """
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left > 0.0:
            return left
        raise TimedOutError(
            f"the time limit ended the search of group {self.group}",
            stage="inverse kinematics",
            subjects=(self.group,),
            values=(Value("timeout", self.options.timeout or 0.0, None, "s"),),
            partial=IkFailure(IkFailureReason.TIMED_OUT),
        )

    def result(self, is_valid: Validity | None, explain: Explanation | None) -> IkResult:
        combinations, complete = self._combinations()
        start = self.model.values(self.state, self.variables)
        position = {name: index for index, name in enumerate(self.variables)}
        requested, nearest = self.options.max_solutions, self.options.order is IkOrder.NEAREST_TO_SEED
        found: list[Array] = []
        retained: list[_Combination] = []
        invalid: Array | None = None
        for combination in combinations:
            self._time_left()
            q = start.copy()
            for name, value in combination.values.items():
                q[position[name]] = value
            if is_valid is not None and not is_valid(q.copy()):
                invalid = q if invalid is None else invalid
                continue
            found.append(q)
            retained.append(combination)
            if nearest and len(found) == requested:
                complete = False
                break
        if not found:
            raise self._none_valid(invalid, explain, len(combinations))
        result = self._combined(found, retained, complete)
        return result if nearest else self._ordered(result)

    def _combinations(self) -> tuple[list[_Combination], bool]:
        """Return combinations of solutions, nearest first, and whether there are no others."""
        combinations, complete = [_Combination({})], True
        for part, depends in self._order():
            shared = None if depends else self._solve(part, self.state)
            extended: list[_Combination] = []
            failure: RobotCellError | None = None
            for combination in combinations:
                try:
                    result = shared or self._solve(part, self.state.with_configuration(combination.values))
                except TimedOutError:
                    raise
                except RobotCellError as error:
                    failure = failure or error
                    continue
                complete = complete and result.complete and len(result) <= MAX_OF_GROUP
                start = self.model.values(self.state, result.variables)
                for row in range(min(len(result), MAX_OF_GROUP)):
                    q = result.solutions[row]
                    values = {**combination.values, **dict(zip(result.variables, q.tolist(), strict=True))}
                    distance = combination.distance + float(np.sum((q - start) ** 2))
                    extended.append(_Combination(values, (*combination.rows, (result, row)), distance))
            if failure is not None and not extended:
                raise failure
            extended.sort(key=lambda entry: entry.distance)
            complete = complete and len(extended) <= MAX_COMBINATIONS
            combinations = extended[:MAX_COMBINATIONS]
        return combinations, complete

    def _solve(self, part: str, state: RobotCellState) -> IkResult:
        own = self.cell.group(part).variables
        variables = tuple(name for name in self.variables if name in own)
        left = self._time_left()
        options = replace(self.options, max_solutions=0, order=IkOrder.NEAREST_TO_SEED, timeout=left)
        try:
            return inverse_kinematics(self.cell, state, self.targets[part], part, options, variables=variables)
        except RobotCellError as error:
            error.message = f"group {part}: {error.message}"
            raise

    def _order(self) -> Iterable[tuple[str, bool]]:
        """Return the groups with targets, each after those that move its base or its reference frame, and whether there
        are any."""
        moved_by = {part: self._groups_moving(part) for part in self.targets}
        ordered: list[tuple[str, bool]] = []
        left = list(self.targets)
        while left:
            ready = [part for part in left if not moved_by[part] & set(left)]
            if not ready:
                text = f"the targets of groups {', '.join(left)} refer to frames that these groups move"
                raise InvalidRequestError(text, subjects=tuple(left))
            ordered += [(part, bool(moved_by[part])) for part in ready]
            left = [part for part in left if part not in ready]
        return ordered

    def _groups_moving(self, part: str) -> set[str]:
        reference = self.targets[part].reference_frame
        joints = set(joints_to(self.model, self.cell.tip_link(part)).variables) - set(self.cell.group(part).variables)
        if reference != WORLD:
            joints.update(joints_to(self.model, reference).variables)
        return {other for other in self.targets if joints & set(self.cell.group(other).variables)}

    def _combined(self, found: list[Array], retained: list[_Combination], complete: bool) -> IkResult:
        residuals = [
            np.max([result.residuals[row] for result, row in combination.rows], axis=0) for combination in retained
        ]
        results = [result for result, _ in retained[0].rows]
        indices = self.model.indices(self.variables)
        unlimited = np.full(len(indices), np.inf)
        limits = np.array((self.model.lower[indices], self.model.upper[indices], -unlimited, unlimited))
        solver = ", ".join(dict.fromkeys(result.solver for result in results))
        chains = tuple(chain for result in results for chain in result.chains)
        return IkResult(self.variables, np.array(found), np.array(residuals), solver, complete, chains, limits)

    def _ordered(self, result: IkResult) -> IkResult:
        farthest = self.options.order is IkOrder.FARTHEST_FROM_LIMITS
        keys = result.limit_distances() if farthest else result.manipulabilities()
        order = np.argsort(-keys, kind="stable")[: self.options.max_solutions or None]
        return replace(result, solutions=result.solutions[order], residuals=result.residuals[order])

    def _none_valid(
        self, invalid: Array | None, explain: Callable[[Array], tuple[str, ...]] | None, count: int
    ) -> AllSolutionsInCollisionError:
        pairs = explain(invalid.copy()) if invalid is not None and explain is not None else ()
        text = f"all {count} combinations of solutions of group {self.group} are in collision"
        text += f", the first with {', '.join(pairs)}" if pairs else ""
        failure = IkFailure(IkFailureReason.IN_COLLISION, pairs=pairs)
        return AllSolutionsInCollisionError(
            text, stage="inverse kinematics", subjects=(self.group, *pairs), partial=failure
        )
