"""Plans for RViz lie where the tool goes."""

import numpy as np
import pytest
from loaded_cells import loaded

from robot_cell_planner.kinematics.transforms import WorldTransforms, world_pose
from robot_cell_planner.nodes.planning.plan_markers import plan_markers
from robot_cell_planner.planning.problem.plan import Plan
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Detach

CELL, STATE = loaded()
SCENE = Scene(CELL, STATE)


def plan(rows, variables):
    return Plan("manipulator", variables, np.array(rows), "by hand", "", 1, "", "", "", 0, 0, 1.0, 1.0, 0.01)


@pytest.mark.parametrize(("changes", "frame"), [([], "gripper/tcp"), ([Detach("gripper")], "tool0")])
def test_line_and_waypoints(changes, frame):
    scene = apply_changes(SCENE, changes, world_pose) if changes else SCENE
    variables = CELL.group("manipulator").variables
    start = [STATE.configuration[name] for name in variables]
    end = [value + 0.3 for value in start]
    line, waypoints = plan_markers(scene, plan([start, end], variables))
    assert len(waypoints.points) == 2
    assert len(line.points) > 10
    for row, place in ((start, line.points[0]), (end, line.points[-1]), (end, waypoints.points[1])):
        state = scene.state.with_configuration(dict(zip(variables, row, strict=True)))
        expected = WorldTransforms(scene.cell, state).matrix(frame)[:3, 3]
        np.testing.assert_allclose([place.x, place.y, place.z], expected, atol=1e-9)
    assert {marker.header.frame_id for marker in (line, waypoints)} == {"world"}
