"""SDFormat models and worlds: links become bodies, frames become named frames.

Bodies, as everything in SDFormat, are named by their scopes: "model::link". A body is carried by the parent link of the
joint that it is the child of; joints keep the place that the poses of the links give them. Frames are those of <frame>,
of models, and of links without any shape. Versions 1.3 to 1.12 are read.
"""

from __future__ import annotations

from ...errors import FrameCycleError
from ...model.geometry import MeshUse
from ..common.resources import NO_ROOTS, ResourceRoots
from ..common.xml_reader import XmlReader
from .imported import Imported
from .sdformat_bodies import SdfBuilder
from .sdformat_document import STAGE, read_root
from .sdformat_reader import SdfReader


def read_sdf(
    text: str,
    folder: str = "",
    roots: ResourceRoots = NO_ROOTS,
    source: str = "sdf",
    mesh_use: MeshUse = MeshUse.EXACT,
) -> Imported:
    """The bodies and frames of a world, or of the models of a document without one, where they stand.

    folder: where relative URIs start. Included models must lie below the roots or in installed packages; model:// and
    package:// find them. Links of one model may touch one another unless it says <self_collide>. A plane becomes a box
    of 100 m below it, an ellipsoid a polyhedron just around it.

    Raises:
        FileError: malformed, a name that does not exist in its scope, or another version; says file and line.
        NotSupportedError: several worlds, parameters of an include, a shape that has no counterpart.
        ResourceError, GeometryError: an included model or a mesh is missing, outside of the roots, or of another kind.
        FrameCycleError, DuplicateNameError: frames in a loop, a name twice in a scope.
        LimitExceededError: includes without end.
    """
    root, file = read_root(XmlReader(source, STAGE), folder, text)
    reader = SdfReader(roots)
    try:
        name = reader.document(root, file)
        return SdfBuilder(reader.contents, roots, mesh_use).imported(name)
    except FrameCycleError as error:
        raise FrameCycleError(f"{source}: {error.message}", stage=STAGE, subjects=error.subjects) from error
