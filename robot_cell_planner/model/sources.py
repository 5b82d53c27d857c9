"""Sources of a robot or tool model."""

from __future__ import annotations

import msgspec
from frozendict import frozendict

from .arguments import check_fields
from .geometry import MeshUse


class ModelSources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts of a model and their origin.

    Attributes:
        urdf: URDF after xacro expansion.
        srdf: SRDF; "" if there is none.
        limits: Joint limits file; "" if there is none.
        folder: Base folder of relative URIs in the URDF.
        urdf_uri, srdf_uri, limits_uri: Where the texts were read from; "" if they were passed as texts.
        xacro_arguments: Arguments of the xacro expansion.
        mesh_uses: Collision representation of meshes that differ from the others of the model, by their URI; unchecked
            ones are left out, with a warning.
        files: Absolute path of each mesh that the URDF references, by its URI; "" for a mesh that cannot be used.
            Filled when the model is built, so that every process uses the same files.
        warnings: Defects of the texts that do not prevent their use, one line each.
    """

    urdf: str = ""
    srdf: str = ""
    limits: str = ""
    folder: str = ""
    urdf_uri: str = ""
    srdf_uri: str = ""
    limits_uri: str = ""
    xacro_arguments: frozendict[str, str] = frozendict()
    mesh_uses: frozendict[str, MeshUse] = frozendict()
    files: frozendict[str, str] = frozendict()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def as_read(self) -> ModelSources:
        """Return the sources without what does not come from their files: uses of meshes, and what is filled when the
        model is built."""
        return msgspec.structs.replace(self, mesh_uses=frozendict(), files=frozendict(), warnings=())
