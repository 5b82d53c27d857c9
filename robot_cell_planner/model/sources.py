"""Sources of a robot or tool model."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from .arguments import check_fields


class ModelSources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts of a model and their origin.

    Attributes:
        urdf: URDF after xacro expansion.
        srdf: SRDF; "" if there is none.
        limits: Joint limits file; "" if there is none.
        folder: Base folder of relative URIs in the URDF.
        urdf_uri, srdf_uri, limits_uri: Where the texts were read from; "" if they were passed as texts.
        xacro_arguments: Arguments of the xacro expansion.
    """

    urdf: str = ""
    srdf: str = ""
    limits: str = ""
    folder: str = ""
    urdf_uri: str = ""
    srdf_uri: str = ""
    limits_uri: str = ""
    xacro_arguments: frozendict[str, str] = frozendict()

    def __post_init__(self) -> None:
        check_fields(self)
