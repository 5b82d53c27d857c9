"""A drafted SRDF disables what it says it does, the same in every run, and the command writes it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from frozendict import frozendict

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.errors import NotSupportedError
from robot_cell_planner.io.robot_description.loading import load_robot
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.setup_assistant.command_line import main
from robot_cell_planner.setup_assistant.srdf_generator import DraftOptions, draft_robot

SHARES = (Path(entry, "cmeel.prefix/share/example-robot-data/robots") for entry in sys.path)
PANDA = next(folder for folder in SHARES if folder.is_dir()) / "panda_description"
URDF, SRDF = PANDA / "urdf/panda.urdf", PANDA / "srdf/panda.srdf"
OPTIONS = DraftOptions(samples=1500)


@pytest.fixture(scope="module")
def draft():
    return draft_robot(load_robot("panda", URDF), OPTIONS)


def reasons(draft):
    return {frozenset((pair.first, pair.second)): pair.reason for pair in draft.disabled_pairs}


def test_the_same_seed_gives_the_same_text(draft):
    assert draft_robot(load_robot("panda", URDF), OPTIONS).srdf == draft.srdf
    assert draft_robot(load_robot("panda", URDF), DraftOptions(samples=20, seed=2)).srdf != draft.srdf


def test_an_srdf_that_the_robot_has_does_not_matter(draft):
    assert draft_robot(load_robot("panda", URDF, SRDF), OPTIONS) == draft


def test_neighbours_are_adjacent(draft):
    found = reasons(draft)
    for i in range(7):
        assert found[frozenset((f"panda_link{i}", f"panda_link{i + 1}"))] == "Adjacent"
    assert found[frozenset(("panda_hand", "panda_leftfinger"))] == "Adjacent"


def test_what_never_collided_hardly_ever_does(draft):
    """Against other random configurations, with all pairs but the neighbours checked."""
    robot = load_robot("panda", URDF)
    cell = RobotCell(robots=frozendict(panda=robot))
    checker = CollisionChecker(cell, cell.default_state())
    never = {pair for pair, reason in reasons(draft).items() if reason == "Never"}
    limits = [variable.limits for variable in robot.variables.values()]
    lower, upper = ([getattr(limit, end) for limit in limits] for end in ("lower", "upper"))
    hits = 0
    for q in np.random.default_rng(99).uniform(lower, upper, (500, len(limits))):
        hits += any(frozenset((pair.first, pair.second)) in never for pair in checker.report(q).pairs)
    assert hits <= 3
    assert len(never) > 10


def test_it_agrees_with_the_srdf_of_the_maker(draft):
    """Nothing that the maker found to be able to collide is drafted as never colliding, and the other way round."""
    maker = {frozenset((p.first, p.second)): p.reason for p in load_robot("panda", URDF, SRDF).disabled_pairs}
    never = {pair for pair, reason in reasons(draft).items() if reason == "Never"}
    assert len(never & set(maker)) >= 0.8 * len(never)


def test_a_robot_is_planned_for_with_its_draft(draft, tmp_path):
    (tmp_path / "panda.srdf").write_text(draft.srdf)
    (tmp_path / "joint_limits.yaml").write_text(draft.limits)
    robot = load_robot("panda", URDF, tmp_path / "panda.srdf", tmp_path / "joint_limits.yaml")
    assert robot.group().tip_link == "panda_hand"
    assert not any(variable.limits.defaulted for variable in robot.variables.values())


def test_the_command(tmp_path, capsys):
    given = [str(URDF), "--folder", str(tmp_path / "new"), "--samples", "30"]
    assert main(given) == 0
    assert "group manipulator: panda_joint1" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["joint_limits.yaml", "panda.srdf"]
    assert main(given) == 1
    assert "exists" in capsys.readouterr().err
    assert main([*given, "--overwrite"]) == 0


@pytest.mark.parametrize("given", [["none.urdf"], [str(URDF), "--samples", "0"], [str(URDF), "--xacro", "x"]])
def test_the_command_says_what_is_wrong(given, capsys, tmp_path):
    assert main([*given, "--folder", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("draft_robot: ")


def test_senseless_options_are_refused():
    for given in ({"samples": 0}, {"always": 0.0}, {"always": 1.5}):
        with pytest.raises(ValueError, match="expected"):
            DraftOptions(**given)
    with pytest.raises(NotSupportedError, match="prefix"):
        draft_robot(load_robot("panda", URDF, prefix="left_"))
