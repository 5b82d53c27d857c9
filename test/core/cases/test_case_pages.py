"""Pages of cases with several steps show the joints where they are."""

import pytest
from planning_cells import two_gantries

from robot_cell_planner.cases.case import Case
from robot_cell_planner.commands.actions import case_pages
from robot_cell_planner.planning.problem.request import Goals
from robot_cell_planner.planning.problem.steps import MotionStep, MultistepRequest
from robot_cell_planner.planning.sequence import plan_multistep


@pytest.fixture
def recordings(monkeypatch):
    """Recordings of the pages that were written."""
    found = []
    monkeypatch.setattr(
        case_pages, "write_html", lambda path, cell, recording, *others, **more: found.append(recording)
    )
    return found


def test_each_step_begins_where_the_joints_of_all_groups_were(recordings, tmp_path):
    cell, state = two_gantries()
    goals = (("a", {"ax": -0.5}), ("b", {"by": 0.4}), ("a", {"ay": 0.6}))
    request = MultistepRequest(tuple(MotionStep(goals=Goals(joint_goals=(goal,)), group=name) for name, goal in goals))
    plans = plan_multistep(cell, state, request)
    case_pages.write_case_page(tmp_path / "page.html", Case(cell, state, "plan_multistep", request, {}, {}), plans)
    [recording] = recordings
    expected = dict(state.configuration)
    for (_, goal), segment in zip(goals, recording.segments, strict=True):
        for moment in recording.moments:
            if segment.start < moment.time < segment.end:
                others = expected.keys() - goal.keys()
                shown = {name: moment.state.configuration[name] for name in others}
                assert shown == pytest.approx({name: expected[name] for name in others})
        expected |= goal
    assert dict(recording.moments[-1].state.configuration) == pytest.approx(expected)
