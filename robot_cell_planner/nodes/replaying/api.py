"""Functions and types for the command line."""

from ..conversions.models import ModelReader
from .offline import Library
from .online import RunningNodes
from .replay import replay

__all__ = ["Library", "ModelReader", "RunningNodes", "replay"]
