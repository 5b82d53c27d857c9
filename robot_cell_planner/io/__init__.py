"""Input and output of files: cell files, robot descriptions, scenes in other formats, and meshes."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
