"""Exchange of cells with other programs: files of compas_fab, configuration packages of MoveIt."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
