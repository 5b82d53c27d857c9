"""Physics simulation of a cell, in PyBullet or MuJoCo, and its controllers."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
