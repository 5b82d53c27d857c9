"""Plans are restored from JSON to the last bit, and malformed ones are refused with a name."""

import json
import pickle
import re

import numpy as np
import pytest
from planning_cells import wall_with_gap

from robot_cell_planner.errors import FileError
from robot_cell_planner.planning.joint_space.planner import plan_motion
from robot_cell_planner.planning.problem.plan_file import plan_from_json, plan_to_json
from robot_cell_planner.planning.problem.request import Goals, MotionRequest


@pytest.fixture(scope="module")
def plan():
    return plan_motion(*wall_with_gap(), MotionRequest(Goals(joint_goals=({"x": 0.8},))))


def test_a_plan_is_restored(plan):
    text = plan_to_json(plan)
    back = plan_from_json(text)
    assert plan_to_json(back) == text
    assert np.array_equal(back.path, plan.path)
    assert np.array_equal(back.trajectory.accelerations, plan.trajectory.accelerations)
    assert back.clearance == plan.clearance
    assert back.times == plan.times


def test_times_and_revision_are_left_out_of_comparisons(plan):
    text = json.loads(plan_to_json(plan, repeatable=True))
    assert text["plan"]["times"] == []
    assert text["plan"]["revision"] == 0
    assert text["plan"]["cell_digest"] == plan.cell_digest


def test_plans_and_requests_can_be_pickled(plan):
    assert plan_to_json(pickle.loads(pickle.dumps(plan))) == plan_to_json(plan)
    request = MotionRequest(Goals(joint_goals=({"x": 0.8},)))
    assert pickle.loads(pickle.dumps(request)) == request


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"robot_plan/1", b"robot_plan/9"),
        lambda text: text.replace(b'"seed":0', b'"seed":"zero"'),
        lambda text: text.replace(b'"engine":"coal"', b'"engine":"fcl"'),
        lambda text: text.replace(b'"path":[[', b'"path":[["a",'),
        lambda text: re.sub(rb'("path":\[\[)[^,]*,', rb"\1true,", text),
        lambda text: re.sub(rb'("path":\[\[)[^,]*,', rb'\1"0.5",', text),
        lambda text: b"[]",
        lambda text: b"\xff\xfe",
    ],
)
def test_malformed_plans_are_refused(plan, change):
    with pytest.raises(FileError, match="the plan"):
        plan_from_json(change(plan_to_json(plan)), "the plan")


@pytest.mark.parametrize("path", [[], None, [0.0, 1.0], [[0.0]], [[]], [[0.0] * 7], [[[0.0, 1.0]]], [[0.0, None]]])
def test_a_path_of_another_shape_is_refused(plan, path):
    content = json.loads(plan_to_json(plan))
    assert len(content["plan"]["variables"]) == 2
    content["plan"]["path"] = path
    with pytest.raises(FileError, match=r"the plan: (the path has shape \(.*\), expected \(n, 2\)|a joint value)"):
        plan_from_json(json.dumps(content), "the plan")
