"""Composite groups consist of the joints of their groups in order, from any source; unknown groups are refused."""

import msgspec
import pytest
from frozendict import frozendict
from reference import reference_world_pose, small_cell, small_robot

from robot_cell_planner import CompositeGroup, ResourceRoots
from robot_cell_planner.errors import (
    DuplicateNameError,
    FileError,
    InvalidRequestError,
    InvalidValueError,
    ModelError,
    NotSupportedError,
    UnknownNameError,
)
from robot_cell_planner.io.cell_file.cell_file import load_cell, save_cell
from robot_cell_planner.io.common.serialisation import from_json, to_json
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.robot import PlanningGroup
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.diff import apply_difference, difference
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import Journal
from robot_cell_planner.scene.model_changes import Add, Remove, Replace
from robot_cell_planner.scene.scene import Scene

BOTH = CompositeGroup("both", ("hand", "b_hand"))


def two_robots(*groups):
    cell, state = small_cell()
    scene = Scene(cell, state)
    second = RobotCell(robots=frozendict({"second": small_robot("second", "b_")}))
    scene = apply(scene, Add(second))
    return apply(scene, Add(with_groups(*groups))) if groups else scene


def with_groups(*groups):
    return RobotCell(groups=frozendict({group.name: group for group in groups}))


def apply(scene, *changes):
    return apply_changes(scene, changes, reference_world_pose)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("both", ("hand", "b_hand")),
        ("hand+b_hand", ("hand", "b_hand")),
        ("b_hand+hand", ("b_hand", "hand")),
        ("b_hand+both", ("b_hand", "hand")),
        ("hand", ("hand",)),
    ],
)
def test_joints_are_those_of_the_groups_in_order(name, parts):
    cell = two_robots(BOTH).cell
    expected = {"hand": ("turn", "push"), "b_hand": ("b_turn", "b_push")}
    assert cell.group_parts(name) == parts
    assert cell.group(name).variables == tuple(joint for part in parts for joint in expected[part])
    if len(parts) > 1:
        assert cell.group(name).tip_link == ""
        with pytest.raises(NotSupportedError, match="hand"):
            cell.robot_of_group(name)


@pytest.mark.parametrize("name", ["none", "hand+none", "hand+", "+", "none+hand"])
def test_an_unknown_part_is_named(name):
    cell = two_robots(BOTH).cell
    for call in (cell.group, cell.group_parts, cell.robot_of_group):
        with pytest.raises(UnknownNameError):
            call(name)


def test_named_states_are_those_of_all_groups():
    cell = two_robots(BOTH).cell
    robots = {
        name: msgspec.structs.replace(
            robot, named_states=frozendict({f"{group}/home": frozendict({f"{robot.prefix}turn": value})})
        )
        for (name, robot), group, value in zip(cell.robots.items(), ("hand", "b_hand"), (0.5, -0.5), strict=True)
    }
    cell = msgspec.structs.replace(cell, robots=frozendict(robots))
    assert dict(cell.named_state("both", "home")) == {"turn": 0.5, "b_turn": -0.5}
    with pytest.raises(UnknownNameError):
        cell.named_state("both", "away")


def test_groups_with_a_joint_in_common_are_refused():
    scene = two_robots()
    robot = scene.cell.robots["arm"]
    turn = PlanningGroup("turn_only", ("turn",))
    robot = msgspec.structs.replace(robot, groups=frozendict({**robot.groups, "turn_only": turn}))
    cell = msgspec.structs.replace(scene.cell, robots=frozendict({**scene.cell.robots, "arm": robot}))
    with pytest.raises(InvalidRequestError, match="joint turn"):
        cell.group("hand+turn_only")
    with pytest.raises(ModelError, match="joint turn"):
        apply(Scene(cell, scene.state), Add(with_groups(CompositeGroup("double", ("hand", "turn_only")))))


@pytest.mark.parametrize("groups", [(), ("hand",), ("hand", "hand")])
def test_a_composite_group_has_two_or_more_groups(groups):
    with pytest.raises(InvalidValueError):
        CompositeGroup("both", groups)


def test_names_are_unique():
    scene = two_robots()
    for name in ("hand", "table", "arm"):
        with pytest.raises(DuplicateNameError):
            apply(scene, Add(with_groups(CompositeGroup(name, BOTH.groups))))
    with pytest.raises(InvalidValueError, match=r"\+"):
        CompositeGroup("a+b", BOTH.groups)
    with pytest.raises(DuplicateNameError):
        apply(scene, Add(with_groups(BOTH)), Add(with_groups(BOTH)))
    with pytest.raises(ModelError, match="none"):
        apply(scene, Add(with_groups(CompositeGroup("both", ("hand", "none")))))


def test_changes_of_groups_are_differences_and_robots_in_use_cannot_be_removed():
    without, scene = two_robots(), two_robots(BOTH)
    turned = apply(scene, Replace(with_groups(CompositeGroup("both", ("b_hand", "hand")))))
    assert turned.cell.group("both").variables == ("b_turn", "b_push", "turn", "push")
    removed = apply(turned, Remove("both"))
    assert removed == without
    for old, new in ((without, scene), (scene, turned), (turned, removed), (scene, removed)):
        change = difference(old, new)
        assert change.changes_models
        assert apply_difference(old, from_json(to_json(change), type(change))) == new
    with pytest.raises(InvalidRequestError, match="both"):
        apply(scene, Remove("second"))
    assert "second" not in apply(scene, Remove("both"), Remove("second")).cell.robots
    assert without.cell.digest() != scene.cell.digest() != turned.cell.digest()


def test_a_journal_restores_groups(tmp_path):
    journal = Journal(tmp_path / "scene.journal")
    owner = SceneHistory(reference_world_pose, journal)
    scene = two_robots()
    owner.load(scene.cell, scene.state)
    owner.apply([Add(with_groups(BOTH))])
    journal.close()
    again = Journal(tmp_path / "scene.journal")
    assert again.restored.scene == owner.scene
    assert again.restored.scene.cell.groups["both"] == BOTH
    again.close()


def test_a_cell_file_restores_groups(tmp_path, request):
    file = request.config.rootpath / "config" / "two_arms" / "cell.yaml"
    cell, state = load_cell(file)
    assert cell.groups["both"].groups == ("left/manipulator", "right/manipulator")
    assert {name.split("/")[0] for name in cell.group("both").variables} == {"left", "right"}
    save_cell(tmp_path / "cell.json", cell, state)
    again, _ = load_cell(tmp_path / "cell.json")
    assert again.groups == cell.groups
    text = file.read_text().replace("[left/manipulator, right/manipulator]", "[left/manipulator]")
    text = text.replace("../..", str(request.config.rootpath)).replace("../demo", str(file.parents[1] / "demo"))
    (tmp_path / "cell.yaml").write_text(text)
    with pytest.raises(FileError, match=r"groups.*both.*two or more"):
        load_cell(tmp_path / "cell.yaml", ResourceRoots(folders=(str(request.config.rootpath),)))


def test_a_tip_link_of_a_composite_group_is_refused_with_what_to_give_instead():
    scene = two_robots(BOTH)
    with pytest.raises(
        ModelError, match="both is not a chain, so it has no tip link; give each of its groups a goal"
    ) as found:
        scene.cell.tip_link("both")
    assert "SimultaneousGoal" in found.value.remedy
