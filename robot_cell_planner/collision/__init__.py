"""Collision checking: allowed pairs, collision engines, sphere models, certified motions and reports."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
