"""Motion planning: joint-space and Cartesian motions, sequences of motions, and path processing."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
