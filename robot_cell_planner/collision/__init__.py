"""Collision: which objects may touch, the engines that check it, certified motions, and reports that explain."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
