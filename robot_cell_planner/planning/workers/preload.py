"""What a worker needs before its first request: importing this compiles the kernels, or reads them from disk."""

from __future__ import annotations

import scipy.interpolate  # noqa: F401 (what is imported late elsewhere, as it is slow)

from ...kinematics.ik import warm_up as kinematics
from ..cartesian import warm_up as cartesian_warm_up
from ..search import warm_up as native_warm_up
from . import tasks

kinematics.warm_up()
native_warm_up.warm_up()
cartesian_warm_up.warm_up()

__all__ = ["tasks"]
