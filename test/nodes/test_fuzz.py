"""Random and hostile messages for every service, action and topic of every node; `make bench AREA=fuzz` sends more."""

import pytest

from benchmarks.fuzz import NODES, Attack, cell_of_nodes
from robot_cell_planner import srv
from robot_cell_planner.nodes.conversions.basic import error_from_message

REQUESTS = 60
SEED = 7
MEMORY = 200.0  # [MB] that a node may take more than after the first quarter: caches fill


@pytest.fixture(scope="module")
def cell(domain):
    with cell_of_nodes() as cell:
        yield cell


@pytest.mark.parametrize("name", NODES)
def test_garbage_is_answered(cell, name):
    found = Attack(cell, name, SEED).run(REQUESTS)
    assert not found.faults, cell.log(name)
    assert found.requests + found.messages >= REQUESTS
    assert found.usage[-1].memory - found.settled.memory < MEMORY
    assert found.usage[-1].descriptors - found.settled.descriptors < 20


def test_valid_requests_are_still_answered(cell):
    call = cell.client.call_service
    call(srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(uri=str(cell.file)))
    revision = call(srv.GetCell, "scene/get_cell", srv.GetCell.Request()).scene.state.revision
    for kind, service in (
        (srv.ForwardKinematics, "kinematics/forward_kinematics"),
        (srv.CheckStates, "collision/check_states"),
    ):
        request = kind.Request()
        request.state.min_revision = revision
        assert call(kind, service, request).state.revision >= revision
    reply = call(srv.ListPlanners, "planning/list_planners", srv.ListPlanners.Request())
    assert error_from_message(reply.error) is None
    call(srv.SetSpeedScale, "execution/set_speed_scale", srv.SetSpeedScale.Request(scale=1.0))
