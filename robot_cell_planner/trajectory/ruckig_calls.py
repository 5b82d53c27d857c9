"""Calls of Ruckig, whose failures are errors of this library."""

from __future__ import annotations

import ruckig

from ..errors import TrajectoryError, Value

DONE = (ruckig.Result.Working, ruckig.Result.Finished)


def calculated(solver: ruckig.Ruckig, request: ruckig.InputParameter, *values: Value) -> ruckig.Trajectory:
    """Return the fastest motion of a request, with one degree of freedom for each of its numbers.

    Args:
        solver: Solver of as many degrees of freedom.
        request: State, target and limits.
        values: Numbers for an error.

    Raises:
        TrajectoryError: Ruckig finds none, as with numbers outside the range that it supports.
    """
    answer = ruckig.Trajectory(request.degrees_of_freedom)
    try:
        result = solver.calculate(request, answer)
    except ruckig.RuckigError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = lines[0].removeprefix("[ruckig] ").rstrip(":. ") if lines else str(ruckig.Result.Error)
        raise TrajectoryError(f"Ruckig cannot time a motion: {reason}", values=values) from None
    if result not in DONE:
        raise TrajectoryError(f"Ruckig cannot time a motion: {result}", values=values)
    return answer
