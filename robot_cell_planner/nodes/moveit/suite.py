"""The services and actions of the cell's nodes that the adapter calls."""

from __future__ import annotations

from robot_cell_planner import action, srv

from ..common.node import CellNode
from ..common.remote_calls import RemoteAction, RemoteService


class Suite:
    """Calls to the nodes of the cell."""

    def __init__(self, node: CellNode) -> None:
        # Programs may call these hundreds of times a second, and each reply would wake the adapter.
        self.forward_kinematics = RemoteService(
            node, srv.ForwardKinematics, "kinematics/forward_kinematics", from_first_call=True
        )
        self.inverse_kinematics = RemoteService(
            node, srv.InverseKinematics, "kinematics/inverse_kinematics", from_first_call=True
        )
        self.check_states = RemoteService(node, srv.CheckStates, "collision/check_states", from_first_call=True)
        self.list_planners = RemoteService(node, srv.ListPlanners, "planning/list_planners")
        self.check_path = RemoteService(node, srv.CheckPath, "planning/check_path")
        self.time_parameterize = RemoteService(node, srv.TimeParameterize, "planning/time_parameterize")
        self.control_motion = RemoteService(node, srv.ControlMotion, "execution/control_motion")
        self.plan_motion = RemoteAction(node, action.PlanMotion, "planning/plan_motion")
        self.plan_cartesian = RemoteAction(node, action.PlanCartesian, "planning/plan_cartesian")
        self.execute_trajectory = RemoteAction(node, action.ExecuteTrajectory, "execution/execute_trajectory")
        self.move = RemoteAction(node, action.Move, "execution/move")
