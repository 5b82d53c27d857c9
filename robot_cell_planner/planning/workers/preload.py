"""Imports of workers before their first request, which compile the kernels or load them from disk."""

from __future__ import annotations

import scipy.linalg  # noqa: F401 (slow to import, and imported lazily elsewhere)

from ...kinematics.ik import warm_up as kinematics
from ..cartesian import warm_up as cartesian_warm_up
from ..search import warm_up as search_warm_up
from . import tasks

kinematics.warm_up()
search_warm_up.warm_up()
cartesian_warm_up.warm_up()

__all__ = ["tasks"]
