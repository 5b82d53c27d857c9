"""Planners of installed distributions, and those that a program adds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robot_cell_planner.errors import DuplicateNameError, InvalidRequestError, NotSupportedError, UnknownNameError
from robot_cell_planner.planning.problem.planner_info import AUTOMATIC
from robot_cell_planner.planning.search import registry
from robot_cell_planner.planning.search.installed_planners import GROUP, Planners

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "planning.md"
SUPPORT = Path(__file__).parents[2] / "support"
OWN = tuple(registry.PLANNERS.values())
MODULE = "one_stop_of_test"
ENTRIES = {
    "OneStop": f"{MODULE}:OneStop",
    "Instance": f"{MODULE}:instance",
    "Other": f"{MODULE}:OneStop",
    "Absent": "module_that_does_not_exist:Planner",
    "Fails": f"{MODULE}:fails",
    "Leaves": f"{MODULE}:leaves",
    "Nothing": f"{MODULE}:NOTHING",
}
MORE = """
from dataclasses import replace


class Instance(OneStop):
    info = replace(OneStop.info, name="Instance")


class fails(OneStop):
    def __init__(self):
        raise ValueError("no licence")


class leaves(OneStop):
    def __init__(self):
        raise SystemExit("no licence server")


instance, NOTHING = Instance(), object()
"""
# Plans the demonstration of a wall with a gap in worker processes; prints the planners.
PROGRAM = """
import sys
sys.path.insert(0, {support!r})
from planning_cells import wall_with_gap
from robot_cell_planner.planning.problem.request import Goals, MotionRequest, PlanningOptions
from robot_cell_planner.planning.workers.batch import PlanningJob, local_executor, plan_many

if __name__ == "__main__":
    cell, state = wall_with_gap(0.3)
    goals = Goals(joint_goals=({{"x": 0.8, "y": 0.0}},))
    options = PlanningOptions(planner="OneStop", seed=3)
    with local_executor(1) as executor:
        for outcome in plan_many([PlanningJob(cell, state, MotionRequest(goals, options=options))], executor):
            print(outcome.plan.planner)
"""


def distribution(folder, name, entries):
    """Install a distribution without files."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{planner} = {value}\n" for planner, value in entries.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    section = DOCUMENTATION.read_text().partition("## Add a planner")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    (tmp_path / f"{MODULE}.py").write_text(example + MORE)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop(MODULE, None)


@pytest.fixture
def planners(folder):
    distribution(folder, "my_planners", ENTRIES)
    return Planners(OWN)


def test_their_names_are_known_before_they_are_imported(planners):
    assert list(planners) == [*registry.PLANNERS, *sorted(ENTRIES)]
    assert len(planners) == len(OWN) + len(ENTRIES)
    assert "OneStop" in planners
    assert MODULE not in sys.modules
    assert planners[AUTOMATIC] is registry.PLANNERS[AUTOMATIC]
    assert MODULE not in sys.modules


def test_the_entry_point_of_the_documentation_is_read(folder):
    """With the module of the test in place of that of the page."""
    section = DOCUMENTATION.read_text().partition("## Add a planner")[2]
    block = section.partition("```toml\n")[2].partition("```")[0]
    [(group, name, value)] = re.findall(r'^\[project\.entry-points\."(.+)"\]\n(\w+) = "(.+)"$', block, re.MULTILINE)
    assert group == GROUP
    distribution(folder, "my_planners", {name: value.replace("my_planners.one_stop", MODULE)})
    assert Planners(OWN)["OneStop"].info.library == "my_planners"


def test_classes_and_instances_are_planners(planners):
    assert planners["OneStop"].info.name == "OneStop"
    assert planners["OneStop"] is planners["OneStop"]
    assert planners["Instance"].info.name == "Instance"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Absent", "ModuleNotFoundError: .*module_that_does_not_exist"),
        ("Fails", "ValueError: no licence"),
        ("Leaves", "SystemExit: no licence server"),
        ("Nothing", "its info is not a PlannerInfo"),
        ("Other", "its name is 'OneStop', that of its entry point 'Other'"),
    ],
)
def test_one_that_cannot_be_loaded_is_refused_with_the_reason(planners, monkeypatch, name, reason):
    monkeypatch.setattr(registry, "PLANNERS", planners)
    with pytest.raises(
        NotSupportedError, match=f"planner '{name}' of my_planners .*cannot be loaded: {reason}"
    ) as caught:
        registry.planner_named(name)
    assert caught.value.subjects == (name,)


def test_the_others_are_listed(planners):
    found, errors = planners.loaded()
    assert [planner.info.name for planner in found] == [*registry.PLANNERS, "Instance", "OneStop"]
    assert [error.subjects for error in errors] == [("Absent",), ("Fails",), ("Leaves",), ("Nothing",), ("Other",)]


def test_an_unknown_name_is_compared_with_theirs(planners, monkeypatch):
    monkeypatch.setattr(registry, "PLANNERS", planners)
    with pytest.raises(UnknownNameError, match="OneStop"):
        registry.planner_named("OneStopp")


def test_two_distributions_with_one_name_are_named(planners, folder):
    distribution(folder, "their_planners", {"OneStop": ENTRIES["OneStop"]})
    with pytest.raises(NotSupportedError, match=r"several distributions: my_planners .*their_planners"):
        planners["OneStop"]


def test_names_of_this_library_are_not_replaced(folder):
    distribution(folder, "my_planners", {"RRTConnect": ENTRIES["OneStop"]})
    planners = Planners(OWN)
    with pytest.warns(RuntimeWarning, match=r"'RRTConnect' of my_planners .*is not used"):
        assert list(planners) == list(registry.PLANNERS)
    assert planners["RRTConnect"] is registry.PLANNERS["RRTConnect"]


def test_a_planner_is_added_by_a_program(planners, monkeypatch):
    monkeypatch.setattr(registry, "PLANNERS", planners)
    one_stop = planners["OneStop"]
    alone = Planners(OWN)
    alone.__dict__["_installed"] = {}
    monkeypatch.setattr(registry, "PLANNERS", alone)
    registry.register_planner(one_stop)
    registry.register_planner(one_stop)  # again, as a cell of a notebook
    assert registry.planner_named("OneStop") is one_stop
    with pytest.raises(InvalidRequestError, match="not a planner: its info"):
        registry.register_planner(object())
    with pytest.raises(DuplicateNameError, match="'RRTConnect'"):
        registry.register_planner(registry.planner_named("RRTConnect"))
    with pytest.raises(DuplicateNameError, match="'OneStop'"):
        planners.add(one_stop)


def test_worker_processes_know_them(planners, folder):
    program = folder / "program.py"
    program.write_text(PROGRAM.format(support=str(SUPPORT)))
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["OneStop"], done.stderr
