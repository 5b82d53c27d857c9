"""What a worker needs before its first request: importing this compiles the kernels, or reads them from disk."""

from __future__ import annotations

from ..kinematics.warm_up import warm_up
from . import tasks

warm_up()

__all__ = ["tasks"]
