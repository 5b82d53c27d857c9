"""Parameters of the validation and the monitoring of motions by other nodes."""

from __future__ import annotations

from ..common.parameters import Parameter

MONITORING_PARAMETERS = (
    Parameter(
        "validate",
        True,
        "Whether the planning node validates trajectories before they run.",
        running=True,
        when_off="motions run that were not checked for collisions and limits",
    ),
    Parameter(
        "monitor_scene",
        True,
        "Whether the rest of a validated trajectory is checked again when the scene changes while it runs.",
        running=True,
        when_off="motions do not stop for objects that come into their path",
    ),
    Parameter(
        "monitor_timeout",
        2.0,
        "Time without an answer from the scene or planning node after which a monitored motion stops [s].",
        1.0,
        600.0,
        running=True,
    ),
)
