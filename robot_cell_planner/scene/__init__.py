"""Scene: a cell with a state, atomic changes, revisions, and a persistent journal."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
