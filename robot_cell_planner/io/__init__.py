"""Files: cell files, robot descriptions, scenes of other formats and meshes, read as values of `model`."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
