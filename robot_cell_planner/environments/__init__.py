"""Environments of reinforcement learning in simulated cells, with the API of Gymnasium (extra `learning`)."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
