"""What the model of a robot or tool was read from."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from .arguments import check_fields


class ModelSources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of a model, and where they came from.

    urdf: with xacro expanded. srdf, limits: "" if there is none. folder: where relative URIs in the URDF start.
    urdf_uri, srdf_uri, limits_uri: where the texts were read; "" if they were given as texts. xacro_arguments: those
    that `urdf` was expanded with.
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
