"""Reader of SDFormat models and worlds: links become bodies, frames become named frames.

Bodies are named with their scope, as in SDFormat: "model::link". The parent link of a joint becomes the parent frame of
the child link; joints are fixed at the poses of the links. Named frames are created for <frame> elements, for models,
and for links without shapes. Versions 1.3 to 1.12 are supported.
"""

from __future__ import annotations

from ...errors import FrameCycleError
from ...model.geometry import MeshUse
from ..common.defects import Defects
from ..common.resources import NO_ROOTS, ResourceRoots
from ..common.xml_reader import XmlReader
from ..sdformat.document import STAGE, read_root
from ..sdformat.reader import SdfReader
from .imported import Imported, with_defects
from .sdformat_bodies import SdfBuilder


def read_sdf(
    text: str,
    folder: str = "",
    roots: ResourceRoots = NO_ROOTS,
    source: str = "sdf",
    mesh_use: MeshUse = MeshUse.EXACT,
    *,
    strict: bool = False,
) -> Imported:
    """Read the bodies and frames of a world, or of the models of a document without a world, with their poses.

    Included models must be located below the roots or in installed packages, and are found by model:// and package://
    URIs. Links of one model may touch each other unless it sets <self_collide>. A plane becomes a box of 100 m below
    it, an ellipsoid a polyhedron that tightly encloses it.

    folder: Base folder of relative URIs.
    strict: Refuse defects that do not prevent the use of the bodies; otherwise they are in `left_out`.

    Raises:
        FileError: The document is malformed, a name does not exist in its scope, or the version is not supported; the
            message gives file and line.
        NotSupportedError: Several worlds, parameters of an include, or an unsupported shape.
        ResourceError, GeometryError: An included model or a mesh is missing, outside the roots, or of another kind.
        FrameCycleError, DuplicateNameError: Frames form a cycle, or a name is used twice in a scope.
        LimitExceededError: Includes are nested too deeply.
    """
    defects = Defects(strict)
    root, file = read_root(XmlReader(source, STAGE, defects), folder, text)
    reader = SdfReader(roots)
    try:
        name = reader.document(root, file)
        found = SdfBuilder(reader.contents, roots, mesh_use).imported(name)
    except FrameCycleError as error:
        raise FrameCycleError(f"{source}: {error.message}", stage=STAGE, subjects=error.subjects) from error
    return with_defects(found, defects)
