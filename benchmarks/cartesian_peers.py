"""The same lines in compas_fab, where it is installed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from robot_cell_planner.model.cell import RobotCell

from .cartesian_cells import PathMaker
from .collision_peers import PeerCell, as_mesh

TOLERANCE = 1e-3  # [m, rad] requested of its inverse kinematics


def compas_fab_follow(maker: PathMaker, cell: RobotCell) -> Callable[[Any, Any], bool] | None:
    """A call (start (n,), world_T_frame (4, 4)) -> whether compas_fab plans the line with collision checks, in a cell
    of the same shapes; None where it is not installed. Its lines are of the last link, moved alike."""
    if find_spec("compas_fab") is None:
        return None
    from compas.datastructures import Mesh
    from compas.geometry import Frame, Quaternion
    from compas_fab.backends import BackendError, PyBulletClient, PyBulletPlanner
    from compas_fab.robots import FrameWaypoints, RigidBody, RobotCellState, RobotSemantics, TargetMode
    from compas_fab.robots import RobotCell as PeerRobotCell
    from compas_robots import RobotModel
    from compas_robots.resources import DefaultMeshLoader

    peer = PeerCell(maker.checker, Path(tempfile.mkdtemp(prefix="peers-")))
    model = RobotModel.from_urdf_file(str(peer.urdf))
    model.load_geometry(DefaultMeshLoader())
    peer_cell = PeerRobotCell(model, RobotSemantics.from_srdf_file(str(peer.srdf), model))
    obstacles = peer.obstacles()
    for name, solid, _ in obstacles:
        mesh = as_mesh(solid)
        peer_cell.rigid_body_models[name] = RigidBody.from_mesh(Mesh.from_vertices_and_faces(mesh.vertices, mesh.faces))
    client = PyBulletClient("direct")
    client.__enter__()
    planner = PyBulletPlanner(client)
    planner.set_robot_cell(peer_cell)
    state = RobotCellState.from_robot_cell(peer_cell)
    for name, _, pose in obstacles:
        x, y, z, w = pose.quaternion
        state.rigid_body_states[name].frame = Frame.from_quaternion(Quaternion(w, x, y, z), pose.position)

    def frame_of(matrix: Any) -> Any:
        return Frame(matrix[:3, 3].tolist(), matrix[:3, 0].tolist(), matrix[:3, 1].tolist())

    def last_link(start: Any) -> Any:
        state.robot_configuration.joint_values = start.tolist()
        found = planner.forward_kinematics(state, TargetMode.ROBOT)
        result = np.eye(4)
        result[:3, :3], result[:3, 3] = np.column_stack((found.xaxis, found.yaxis, found.zaxis)), found.point
        return result

    def follow(start: Any, target: Any) -> bool:
        link = last_link(start)
        fixed = np.linalg.inv(maker.chain.forward(start.copy())) @ link
        waypoints = FrameWaypoints(
            [frame_of(target @ fixed)], TargetMode.ROBOT, tolerance_position=TOLERANCE, tolerance_orientation=TOLERANCE
        )
        try:
            planner.plan_cartesian_motion(waypoints, state)
        except BackendError:
            return False
        return True

    return follow
