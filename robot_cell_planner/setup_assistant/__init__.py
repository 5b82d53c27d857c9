"""Setup assistant: generates initial SRDF and joint limits files for a robot description."""

from ..system.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
