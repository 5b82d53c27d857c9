"""Import of a MoveIt configuration package, with scenes of its planning scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from frozendict import frozendict

from ...io.cell_file.includes import with_scene
from ...io.common.defects import Defects
from ...io.common.packages import workspace_of
from ...io.common.resources import NO_ROOTS, ResourceRoots, resolve
from ...io.robot_description.loading import load_robot, read_sources, robot_from_sources
from ...io.robot_description.srdf import read_srdf
from ...io.scene_import.scene_files import read_scene
from ...model.arguments import public
from ...model.cell import RobotCell
from ...model.geometry import MeshUse
from ...model.robot import Robot
from ...setup_assistant.description_copy import copy_description
from ...setup_assistant.lost_warnings import lost_warnings
from ...setup_assistant.mesh_uses import MeshDraft, draft_mesh_uses
from ...setup_assistant.names import robot_name
from ..imported_cell import CellFolder, ImportedCell
from .declared import STAGE
from .package import ConfigPackage, find_package
from .settings import initial_values, limits_text, note_kinematics, parameters_text

LIMITS_FILE, PARAMETERS_FILE = "joint_limits.yaml", "parameters.yaml"
MOBILE = ("planar", "floating")
START_STATES = ("home", "ready", "default")


@public
def import_moveit(
    package: str | Path,
    folder: str | Path,
    urdf: str = "",
    srdf: str = "",
    scenes: Sequence[str | Path] = (),
    xacro_arguments: Mapping[str, str] = frozendict(),
    roots: ResourceRoots = NO_ROOTS,
    mesh_use: MeshUse | None = None,
    *,
    overwrite: bool = False,
) -> ImportedCell:
    """Write a cell file, the description with its meshes, SRDF, limits and parameters of a configuration package.

    Args:
        package: Folder of the package.
        folder: Folder to write to; it is made if it does not exist.
        urdf: Description, as a path or package:// URI; "": as `find_package`.
        srdf: SRDF or xacro file of one; "": as `find_package`.
        scenes: MoveIt .scene or SDF files whose objects become bodies.
        xacro_arguments: Arguments of the xacro expansion of description and SRDF.
        roots: Folders with the packages that the description uses, besides the workspace of the package.
        mesh_use: Collision representation of meshes; None: hull, pieces or triangles, chosen for each mesh as
            `new_cell` does. MoveIt uses their triangles (`MeshUse.EXACT`).
        overwrite: Allow replacing files.

    Raises:
        FileError: The package has no description or SRDF, or several.
        RobotCellError: As `load_robot`, `read_scene` and `load_cell`.
    """
    found = find_package(Path(package), urdf, srdf)
    with CellFolder(folder, roots, overwrite=overwrite, source=found.folder) as target:
        # Paths from $(find ...) lead to the folders of the workspace.
        workspace = workspace_of(found.folder / "package.xml")
        opened = roots.with_file(found.folder / "package.xml")
        opened = opened if workspace is None else opened.with_folder(workspace)
        arguments = {name: _argument(value, found.folder, opened) for name, value in found.arguments.items()}
        return _Importer(target, found, {**arguments, **xacro_arguments}, opened).imported(mesh_use, scenes)


def _argument(value: str, folder: Path, roots: ResourceRoots) -> str:
    """Return the value of an argument of xacro that a package gives, the path of a file for a package:// URI."""
    return str(resolve(value, folder, roots)) if value.startswith("package://") else value


def _counted(drafts: Sequence[MeshDraft]) -> str:
    """Return how many meshes are checked in each way."""
    counts = Counter(draft.use for draft in drafts)
    text = f"{counts[MeshUse.DECOMPOSITION]} as convex pieces, {counts[MeshUse.HULL]} as hulls"
    if exact := counts[MeshUse.EXACT]:
        text = f"{text}, {exact} by their triangles, because their pieces overlap where these do not"
    return text


class _Importer:
    def __init__(
        self, folder: CellFolder, package: ConfigPackage, arguments: dict[str, str], roots: ResourceRoots
    ) -> None:
        self.folder = folder
        self.package = package
        self.arguments = arguments
        self.roots = roots
        self.left_out: list[str] = []
        self.warnings: tuple[str, ...] = ()

    def imported(self, mesh_use: MeshUse | None, scenes: Sequence[str | Path]) -> ImportedCell:
        robot = self._robot(mesh_use)
        cell = RobotCell(robot.name, frozendict({robot.name: robot}))
        state = cell.default_state()
        initial = initial_values(self._settings("initial_positions"), robot, self.left_out)
        state = state.with_configuration(self._start(robot) | initial)
        note_kinematics(self._settings("kinematics"), self.left_out)
        self._parameters(robot)
        for scene in scenes:
            read = read_scene(Path(scene).absolute(), self.roots.with_file(scene), STAGE)
            self.left_out += read.left_out
            cell, state = with_scene(cell, state, read)
        self.left_out += self.package.unread()
        return self.folder.finish(cell, state, tuple(dict.fromkeys(self.left_out)), self.warnings)

    def _robot(self, mesh_use: MeshUse | None) -> Robot:
        """Write the description, SRDF and limits, and load the robot from them."""
        given = self.package.urdf
        roots = (self.roots if "://" in given else self.roots.with_file(given)).with_file(self.package.srdf)
        sources = read_sources(given, str(self.package.srdf), "", self.arguments, Path.cwd(), roots)
        semantic, sources = sources.srdf, msgspec.structs.replace(sources, srdf="")
        use = mesh_use or MeshUse.HULL
        described = robot_from_sources("robot", sources, roots=roots, mesh_use=use)
        chosen: tuple[MeshDraft, ...] = ()
        if mesh_use is None:
            known = read_srdf(semantic, described.mechanism, defects=Defects()).disabled_pairs
            chosen = draft_mesh_uses(described.mechanism, disabled=[(pair.first, pair.second) for pair in known])
        name = robot_name(described.mechanism)
        urdf, uris = copy_description(described.sources, self.folder.path, name, True)
        srdf = self.folder.write(f"{name}.srdf", semantic)
        limits = limits_text(self._settings("joint_limits"), described, self.left_out)
        limits_file = self.folder.write(LIMITS_FILE, limits) if limits else ""
        uses = {uris.get(draft.uri, draft.uri): draft.use for draft in chosen if draft.use is not MeshUse.HULL}
        if chosen:
            text = "collision meshes, which MoveIt checks by their triangles (`--meshes exact`)"
            self.left_out.append(f"{text}: {_counted(chosen)}")
        robot = load_robot(name, self.folder.path / urdf, srdf, limits_file, mesh_use=use, mesh_uses=uses)
        self.warnings = lost_warnings(described.sources, robot.sources)
        self._note_virtual_joints(semantic, robot)
        return robot

    def _note_virtual_joints(self, semantic: str, robot: Robot) -> None:
        """Note the virtual joints by which MoveIt plans motions of a mobile base."""
        for joint in read_srdf(semantic, robot.mechanism, defects=Defects()).virtual_joints:
            if joint.kind in MOBILE:
                text = "is the pose of the base, which motions do not change"
                remedy = f"give the URDF a {joint.kind} joint to plan motions of the base"
                self.left_out.append(f"{joint.kind} virtual joint {joint.name} {text}; {remedy}")

    def _settings(self, name: str) -> dict[str, Any]:
        return self.package.settings(name, self.left_out)

    @staticmethod
    def _start(robot: Robot) -> dict[str, float]:
        """Return the values of the named states in which robots usually start: home, ready or default of each group, in
        upper or lower case; of two spellings of one name, the lower case counts."""
        values: dict[str, float] = {}
        for group in robot.groups:
            start = f"{group}/"
            keys = {key.removeprefix(start).lower(): key for key in sorted(robot.named_states) if key.startswith(start)}
            for key in [keys[state] for state in START_STATES if state in keys][:1]:
                values |= {name: value for name, value in robot.named_states[key].items() if name not in values}
        return values

    def _parameters(self, robot: Robot) -> None:
        planning, controllers = self._settings("ompl_planning"), self._settings("moveit_controllers")
        group = robot.main_group if robot.groups else ""
        text = parameters_text(planning, controllers, group, self.left_out)
        if text:
            self.folder.write(PARAMETERS_FILE, text)
