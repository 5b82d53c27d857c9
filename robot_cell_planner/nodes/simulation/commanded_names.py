"""Names of joints in command messages, of which those that are not simulated are reported once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model.name_suggestions import listed
from ...simulation.commands import STAGE
from ...simulation.joint_names import JointNames

MAX_REPORTED = 1000  # names


class CommandedNames:
    """Resolves the names in command messages, and reports those that no joint with a motor has.

    These may belong to a robot that another node simulates, so that the rest of the message is carried out.

    Args:
        names: Names of the joints that are simulated.
        report: Receives a sentence about names that were not reported before.
    """

    def __init__(self, names: JointNames, report: Callable[[str], object]) -> None:
        self._names, self._report = names, report
        self._reported: set[str] = set()

    def published(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names as `joint_states` has them; those of other joints as they are.

        Raises:
            InvalidRequestError: Several joints have one of the short names.
        """
        found = self._names.published_names(names, STAGE)
        if len(self._reported) < MAX_REPORTED:  # similar names take time to find
            self._report_others(names)
        return found

    def _report_others(self, names: Sequence[str]) -> None:
        others = self._names.unknown(name for name in names if name not in self._reported)
        if others:
            self._reported.update(others)
            self._report(f"joint_commands: {listed(others.values(), 3)}; these values are ignored")
