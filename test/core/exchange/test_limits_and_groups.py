"""What an export or import changes of limits, groups and pairs is kept, or listed."""

import json

import msgspec
import pytest
import yaml
from frozendict import frozendict

from robot_cell_planner import RobotCell, load_robot
from robot_cell_planner.exchange import export_compas, import_compas, import_moveit
from robot_cell_planner.model.bodies import NamedFrame
from robot_cell_planner.model.robot import CompositeGroup

LIMITS = {
    "revolute": '<limit lower="-2" upper="2" effort="9" velocity="1"/>',
    "continuous": "",
    "prismatic": '<limit lower="0" upper="1" effort="9" velocity="1"/>',
}


def urdf(kinds, name="arm", more=""):
    links = "".join(f'<link name="l{i}"/>' for i in range(len(kinds) + 1))
    joints = "".join(
        f'<joint name="j{i}" type="{kind}"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0 1"/>'
        f"{LIMITS[kind]}</joint>"
        for i, kind in enumerate(kinds)
    )
    return f'<robot name="{name}">{links}{joints}{more}</robot>'


def srdf(content):
    return f'<robot name="arm">{content}</robot>'


CHAIN = '<group name="g"><chain base_link="l0" tip_link="l3"/></group>'


@pytest.fixture
def exchanged(tmp_path):
    """Export a robot to compas_fab and import it again."""

    def run(kinds, groups=CHAIN, limits="{}", more="", change=None):
        for name, text in (("r.urdf", urdf(kinds, more=more)), ("r.srdf", srdf(groups))):
            (tmp_path / name).write_text(text)
        (tmp_path / "limits.yaml").write_text(f"joint_limits: {limits}")
        robot = load_robot("robot", tmp_path / "r.urdf", tmp_path / "r.srdf", tmp_path / "limits.yaml")
        cell = RobotCell("c", frozendict(robot=robot))
        files = export_compas(cell, cell.default_state(), tmp_path / "c.json", tmp_path / "c.state.json")
        if change is not None:
            given = json.loads(files.cell)
            change(given["data"]["robot_model"])
            (tmp_path / "c.json").write_text(json.dumps(given))
        made = import_compas(tmp_path / "c.json", tmp_path / "back", tmp_path / "c.state.json", overwrite=True)
        return robot, made.cell.robot, files.left_out, made.left_out

    return run


def test_passive_joints_are_exported(exchanged):
    given, found, left_out, _ = exchanged(["revolute"] * 3, f'{CHAIN}<passive_joint name="j1"/>')
    assert given.groups["g"].variables == found.groups["g"].variables == ("j0", "j2")
    assert left_out == ()


def test_a_group_without_a_joint_that_others_move_is_listed(exchanged):
    robot, _, _, _ = exchanged(["revolute"] * 3)
    group = robot.groups["g"]
    other = type(group)("fewer", ("j0", "j2"), group.links, group.base_link, group.tip_link)
    robot = type(robot)("robot", robot.mechanism, frozendict(g=group, fewer=other), sources=robot.sources)
    cell = RobotCell("c", frozendict(robot=robot))
    left_out = export_compas(cell, cell.default_state()).left_out
    assert left_out == ("group fewer is without j1, which it has in compas_fab",)


def test_composite_groups_and_what_a_robot_is_attached_to_are_listed(exchanged):
    chains = '<chain base_link="l0" tip_link="l2"/>', '<chain base_link="l2" tip_link="l3"/>'
    parts = "".join(f'<group name="{name}">{chain}</group>' for name, chain in zip("ab", chains, strict=True))
    robot, _, _, _ = exchanged(["revolute"] * 3, parts)
    robot = msgspec.structs.replace(robot, attached_to="plate")
    groups = frozendict(all=CompositeGroup("all", ("a", "b")))
    cell = RobotCell("c", frozendict(robot=robot), frames=frozendict(plate=NamedFrame("plate")), groups=groups)
    left_out = export_compas(cell, cell.default_state()).left_out
    assert left_out == (
        "named frames: plate",
        "composite groups: all",
        "the robot is attached to plate; in compas_fab to the world",
    )


def test_assumed_velocities_and_unknown_efforts_remain_so_and_are_listed(exchanged):
    given, found, exported, imported = exchanged(["revolute", "continuous", "revolute"])
    for name in ("j0", "j1", "j2"):
        assert found.variables[name].limits == given.variables[name].limits
    assert "velocity" in found.variables["j1"].limits.defaulted
    assert found.variables["j1"].limits.effort is None
    (text,) = exported
    assert text == "assumed velocity limits of arm, which are 0 (unknown) in compas_fab: j1"
    assert imported == ("effort limits of robot that are 0, which are unknown here: j1",)


def test_limits_of_a_continuous_joint_are_kept(exchanged):
    limits = "{j1: {min_position: -9, max_position: 8, max_velocity: 1, max_effort: 2}}"
    given, found, exported, imported = exchanged(["revolute", "continuous", "revolute"], limits=limits)
    assert found.variables["j1"].limits == given.variables["j1"].limits
    assert (found.variables["j1"].limits.lower, found.variables["j1"].limits.upper) == (-9.0, 8.0)
    assert exported == imported == ()


def test_acceleration_and_jerk_limits_and_elements_are_listed(exchanged):
    limits = "{j0: {max_acceleration: 3}, j1: {max_jerk: 4}, j2: {max_deceleration: 5}}"
    _, _, left_out, _ = exchanged(["revolute"] * 3, limits=limits, more='<transmission name="t"/><gazebo/>')
    assert left_out == (
        "acceleration limits of arm: j0, j2",
        "jerk limits of arm: j1",
        "elements of the description of arm: gazebo, transmission",
    )


def test_soft_limits_of_compas_fab_narrow_the_limits(exchanged):
    def soft(model):
        numbers = {"soft_lower_limit": -1.0, "soft_upper_limit": 1.5, "k_velocity": 1.0, "k_position": 2.0, "attr": {}}
        model["joints"][0]["safety_controller"] = numbers
        model["joints"][1]["safety_controller"] = dict.fromkeys(numbers, 0.0) | {"attr": {}}

    _, found, _, _ = exchanged(["revolute"] * 3, change=soft)
    bounds = [(found.variables[name].limits.lower, found.variables[name].limits.upper) for name in ("j0", "j1")]
    assert bounds == [(-1.0, 1.5), (-2.0, 2.0)]


@pytest.fixture
def imported(tmp_path):
    """Import a MoveIt package."""

    def run(settings, name="arm", groups=CHAIN):
        config = tmp_path / "package" / "config"
        config.mkdir(parents=True)
        (config.parent / "package.xml").write_text("<package><name>package</name></package>")
        (config / "arm.urdf").write_text(urdf(["revolute"] * 3, name))
        (config / "arm.srdf").write_text(srdf(groups))
        (config / "joint_limits.yaml").write_text(yaml.safe_dump(settings))
        return import_moveit(config.parent, tmp_path / "cell")

    return run


def test_other_settings_of_moveits_limits_file_are_listed(imported):
    made = imported({"joint_limits": {"j0": {"max_velocity": 0.5}}, "cartesian_limits": {"max_trans_vel": 1.0}})
    assert "cartesian_limits of joint_limits.yaml" in made.left_out


def test_deceleration_and_soft_limits_of_moveit_are_limits(imported):
    soft = {"has_soft_limits": True, "soft_lower_limit": -1.0, "soft_upper_limit": 1.0}
    deceleration = {"has_deceleration_limits": True, "max_deceleration": -1.5}
    limits = imported({"joint_limits": {"j0": soft, "j1": deceleration}}).cell.robot.variables
    assert (limits["j0"].limits.lower, limits["j0"].limits.upper) == (-1.0, 1.0)
    assert limits["j1"].limits.acceleration == 1.5


def test_a_robot_called_world_has_another_name(imported):
    assert list(imported({}, "world").cell.robots) == ["robot"]
