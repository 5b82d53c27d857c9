"""The same cell in compas_fab and in gestalt_motion_planner, where they are installed, for comparison.

Both get the arm, the gripper and the held body as one URDF, joints of the gripper fixed, and the same pairs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import pinocchio as pin
import trimesh
from lxml import etree

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.geometry.collision_geometry import CollisionGeometry, ConvexGeometry
from robot_cell_planner.model.geometry import Box, Cylinder, Sphere
from robot_cell_planner.model.pose import Pose

Check = Callable[[Any], bool]
AXES = {"JointModelRX": "1 0 0", "JointModelRY": "0 1 0", "JointModelRZ": "0 0 1"}
GROUP = "arm"


class PeerCell:
    """A checker's cell as files: `urdf` and `srdf` of the arm with everything mounted on it, and separate obstacles."""

    def __init__(self, checker: CollisionChecker, folder: Path) -> None:
        self.folder = folder
        self._table = checker.geometry_model
        self._model = checker._engine._model
        self._q = checker._base
        self.joints = checker.variables
        self._arm = {index for index, obj in enumerate(self._table.object_indices) if self._on_arm(int(obj))}
        self.disabled = self._disabled_pairs(checker)
        self.urdf, self.srdf = self._write_urdf(), self._write_srdf()

    def _on_arm(self, obj: int) -> bool:
        found = self._table.allowed_pairs.objects[obj]
        return found.moves or found.kind.value == "link"

    def name_of(self, solid: int) -> str:
        return self._table.name_of(solid).replace("/", "_")

    def _disabled_pairs(self, checker: CollisionChecker) -> list[tuple[str, str]]:
        checked = {(p.first, p.second) for p in checker.allowed_pairs.checked()}
        names = sorted({self._table.name_of(solid) for solid in self._arm})
        pairs = [(a, b) for a, b in combinations(names, 2) if (a, b) not in checked and (b, a) not in checked]
        return [(a.replace("/", "_"), b.replace("/", "_")) for a, b in pairs]

    def _write_urdf(self) -> Path:
        robot = etree.Element("robot", name=GROUP)
        etree.SubElement(robot, "link", name="part0")
        for index in range(1, self._model.njoints):
            self._add_joint(robot, index)
        for name in sorted({self.name_of(solid) for solid in self._arm}):
            geometries = [solid for solid in sorted(self._arm) if self.name_of(solid) == name]
            link = etree.SubElement(robot, "link", name=name)
            for solid in geometries:
                self._add_collision(
                    link, self._table.geometries[solid], self._table.joint_T_geometry[solid], f"{name}_{solid}"
                )
            joint = etree.SubElement(robot, "joint", name=f"fix_{name}", type="fixed")
            etree.SubElement(joint, "parent", link=f"part{self._table.joints[geometries[0]]}")
            etree.SubElement(joint, "child", link=name)
        return self._write("arm.urdf", robot)

    def _add_joint(self, robot: Any, index: int) -> None:
        name = self._model.names[index]
        placement, moved = self._model.jointPlacements[index], name in self.joints
        if not moved:
            data = self._model.createData()
            pin.forwardKinematics(self._model, data, self._q)
            placement = data.oMi[self._model.parents[index]].inverse() * data.oMi[index]
        etree.SubElement(robot, "link", name=f"part{index}")
        joint = etree.SubElement(robot, "joint", name=name.replace("/", "_"), type="revolute" if moved else "fixed")
        _add_origin(joint, placement.homogeneous)
        etree.SubElement(joint, "parent", link=f"part{self._model.parents[index]}")
        etree.SubElement(joint, "child", link=f"part{index}")
        if moved:
            etree.SubElement(joint, "axis", xyz=AXES[self._model.joints[index].shortname()])
            etree.SubElement(joint, "limit", lower="-6.3", upper="6.3", effort="100", velocity="3")

    def _add_collision(self, link: Any, solid: CollisionGeometry, pose: Any, name: str) -> None:
        collision = etree.SubElement(link, "collision")
        _add_origin(collision, pose)
        geometry = etree.SubElement(collision, "geometry")
        if isinstance(solid, Box):
            etree.SubElement(geometry, "box", size=" ".join(map(str, solid.size)))
        elif isinstance(solid, Sphere):
            etree.SubElement(geometry, "sphere", radius=str(solid.radius))
        elif isinstance(solid, Cylinder):
            etree.SubElement(geometry, "cylinder", radius=str(solid.radius), length=str(solid.length))
        else:
            path = self.folder / f"{name}.stl"
            as_mesh(solid).export(path)
            etree.SubElement(geometry, "mesh", filename=str(path))

    def _write_srdf(self) -> Path:
        robot = etree.Element("robot", name=GROUP)
        group = etree.SubElement(robot, "group", name=GROUP)
        etree.SubElement(group, "chain", base_link="part0", tip_link=f"part{len(self.joints)}")
        for first, second in self.disabled:
            etree.SubElement(robot, "disable_collisions", link1=first, link2=second, reason="Never")
        return self._write("arm.srdf", robot)

    def _write(self, name: str, root: Any) -> Path:
        path = self.folder / name
        path.write_bytes(etree.tostring(root, pretty_print=True))
        return path

    def obstacles(self) -> list[tuple[str, CollisionGeometry, Pose]]:
        """Obstacles, each with a name and its pose in the world."""
        table = self._table
        indices = [index for index in range(len(table.geometries)) if index not in self._arm]
        return [(f"thing{i}", table.geometries[i], Pose.from_matrix(table.joint_T_geometry[i])) for i in indices]

    def obstacle_urdf(self, name: str, solid: CollisionGeometry) -> Path:
        robot = etree.Element("robot", name=name)
        link = etree.SubElement(robot, "link", name="body")
        self._add_collision(link, solid, Pose().matrix, name)
        return self._write(f"{name}.urdf", robot)


def as_mesh(solid: CollisionGeometry) -> trimesh.Trimesh:
    """A shape of the benchmark as triangles."""
    if isinstance(solid, Box):
        return trimesh.creation.box(solid.size)
    if isinstance(solid, Sphere):
        return trimesh.creation.icosphere(3, solid.radius)
    if isinstance(solid, Cylinder):
        return trimesh.creation.cylinder(solid.radius, solid.length)
    assert isinstance(solid, ConvexGeometry)
    return trimesh.Trimesh(solid.mesh.vertices, solid.mesh.faces, process=False)


def _add_origin(element: Any, matrix: Any) -> None:
    rpy = pin.rpy.matrixToRpy(matrix[:3, :3])
    xyz = " ".join(repr(float(value)) for value in matrix[:3, 3])
    etree.SubElement(element, "origin", xyz=xyz, rpy=" ".join(repr(float(value)) for value in rpy))


def compas_fab_check(checker: CollisionChecker) -> Check | None:
    """compas_fab's check_collision on the same cell; None where it is not installed."""
    if find_spec("compas_fab") is None:
        return None
    from compas.datastructures import Mesh
    from compas.geometry import Frame, Quaternion
    from compas_fab.backends import CollisionCheckError, PyBulletClient, PyBulletPlanner
    from compas_fab.robots import RigidBody, RobotCell, RobotCellState, RobotSemantics
    from compas_robots import RobotModel
    from compas_robots.resources import DefaultMeshLoader

    peer = PeerCell(checker, Path(tempfile.mkdtemp(prefix="peers-")))
    model = RobotModel.from_urdf_file(str(peer.urdf))
    model.load_geometry(DefaultMeshLoader())
    cell = RobotCell(model, RobotSemantics.from_srdf_file(str(peer.srdf), model))
    obstacles = peer.obstacles()
    for name, solid, _ in obstacles:
        mesh = as_mesh(solid)
        cell.rigid_body_models[name] = RigidBody.from_mesh(Mesh.from_vertices_and_faces(mesh.vertices, mesh.faces))
    client = PyBulletClient("direct")
    client.__enter__()
    planner = PyBulletPlanner(client)
    planner.set_robot_cell(cell)
    state = RobotCellState.from_robot_cell(cell)
    for name, _, pose in obstacles:
        x, y, z, w = pose.quaternion
        state.rigid_body_states[name].frame = Frame.from_quaternion(Quaternion(w, x, y, z), pose.position)

    def check(q: Any) -> bool:
        state.robot_configuration.joint_values = q.tolist()
        try:
            planner.check_collision(state)
        except CollisionCheckError:
            return True
        return False

    return check


def gestalt_checks(checker: CollisionChecker) -> tuple[Check, Check] | None:
    """gestalt's check_clearance of one state, and of a batch; None where it is not installed."""
    if find_spec("PyGestaltPlanner") is None:
        return None
    import PyGestaltPlanner as gestalt

    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    peer = PeerCell(checker, folder)
    planner = gestalt.GestaltPlanner(command_log_file=str(folder / "log.cpp"), show_logo=False)
    planner.spawn(object_id=GROUP, description_file=str(peer.urdf))
    planner.select_joints(object_id=GROUP, joints=list(peer.joints))
    for first, second in peer.disabled:
        members = [f"{GROUP}.{first}", f"{GROUP}.{second}"]
        planner.create_collision_ignore_group(name=f"{first}-{second}", members=members)
    for name, solid, pose in peer.obstacles():
        (x, y, z), (qx, qy, qz, qw) = pose.position, pose.quaternion
        where = gestalt.Pose(x=x, y=y, z=z, qx=qx, qy=qy, qz=qz, qw=qw)
        planner.spawn(object_id=name, description_file=str(peer.obstacle_urdf(name, solid)), pose=where)

    def one(q: Any) -> bool:
        return not planner.check_clearance(object_id=GROUP, trajectory=[q.tolist()])

    def batch(states: Any) -> bool:
        return not planner.check_clearance(object_id=GROUP, trajectory=states.tolist())

    return one, batch
