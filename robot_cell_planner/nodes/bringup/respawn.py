"""Rules for restarts of programs that have ended."""

from __future__ import annotations

from dataclasses import dataclass

from ..common.exit_status import COULD_NOT_START

REFUSALS = (COULD_NOT_START, 2, 3)  # exit statuses of a node that cannot start, so that a restart would fail again


@dataclass(frozen=True)
class RespawnRule:
    """Limits of restarts.

    Attributes:
        steady: Run time after which a program counts as healthy [s]. failures: maximum ends in a row before it was
        steady.
        refusals: Exit statuses by which a program reports that it cannot start. If it does so on its first run, it is
            not started again; later it has to have run for `refusal_steady` to count as healthy.
        refusal_steady: [s].
        first_delay: Before the second start in a row [s]; the first one is at once, each further one waits twice as
            long, up to `longest_delay` [s].
    """

    steady: float = 5.0
    failures: int = 3
    refusals: tuple[int, ...] = ()
    refusal_steady: float = 60.0
    first_delay: float = 0.5
    longest_delay: float = 8.0

    def failures_after(self, failures: int, lasted: float, status: int) -> int:
        """Return the number of ends in a row before it was steady, including one after `lasted` seconds."""
        steady = self.refusal_steady if status in self.refusals else self.steady
        return 0 if lasted >= steady else failures + 1

    def gives_up(self, failures: int, status: int, first: bool) -> bool:
        """Return whether a program is not restarted. first: it was its first run."""
        return failures >= self.failures or (first and failures > 0 and status in self.refusals)

    def delay(self, failures: int) -> float:
        """Return the delay of the next start [s]."""
        return 0.0 if failures <= 1 else min(self.first_delay * 2.0 ** (failures - 2), self.longest_delay)


NODE_RULE = RespawnRule(failures=5, refusals=REFUSALS)
