"""Planners of an installed distribution that cannot be loaded: clients see the reason, and other planners work."""

import os

import pytest
from moveit_msgs.srv import GetPlannerParams
from running import DEMO

from robot_cell_planner import action, srv
from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.msg import ErrorReport, MotionRequest, PlanningOptions
from robot_cell_planner.nodes.client.client import make_goal
from robot_cell_planner.planning.search.installed_planners import GROUP
from robot_cell_planner.planning.search.registry import PLANNERS

NAME, REASON = "NeedsALibrary", "ModuleNotFoundError: No module named 'library_that_is_not_installed'"
MODULE = "planners_of_the_test"


@pytest.fixture(scope="module", autouse=True)
def adapter(start_node, client, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / f"{MODULE}.py").write_text("import library_that_is_not_installed\n")
    info = folder / "my_planners-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_planners\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{NAME} = {MODULE}:Planner\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        start_node("scene_node", cell_file=DEMO)
        start_node("planning_node")
        adapter = start_node("moveit_adapter_node")
    client.scene()
    return adapter


def planned(client, planner):
    scene, _ = client.scene()
    goal = {name: scene.state.configuration[name] + 0.1 for name in scene.cell.group().variables}
    request = MotionRequest(goal=make_goal([goal]), options=PlanningOptions(planner=planner, seed=1))
    return client.send_goal(action.PlanMotion, "planning/plan_motion", action.PlanMotion.Goal(request=request)).plan


def test_the_list_has_the_reason(client):
    reply = client.call_service(srv.ListPlanners, "planning/list_planners", srv.ListPlanners.Request())
    assert [planner.name for planner in reply.planners] == list(PLANNERS)
    [report] = reply.unavailable
    assert report.code == ErrorReport.NOT_SUPPORTED
    assert list(report.subjects) == [NAME]
    assert f"of my_planners ({MODULE}:Planner) cannot be loaded: {REASON}" in report.message


def test_a_request_that_names_it_has_the_reason_and_others_are_planned(client):
    with pytest.raises(NotSupportedError, match=REASON) as caught:
        planned(client, NAME)
    assert caught.value.subjects == (NAME,)
    assert planned(client, "RRTConnect").path.positions


def test_the_adapter_of_moveit_logs_the_reason(client, adapter):
    """Replies of this service have no field for errors."""
    request = GetPlannerParams.Request(pipeline_id="ompl", planner_config=NAME)
    reply = client.call_service(GetPlannerParams, "get_planner_params", request)
    assert not reply.params.keys
    adapter.wait_for(f"get_planner_params: .*cannot be loaded: {REASON}")
    assert "Traceback" not in adapter.output
