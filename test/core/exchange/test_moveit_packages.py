"""Configuration packages of MoveIt: the files that are used, and the conversion of their settings."""

import json
import re

import pytest
import trimesh
import yaml

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import DuplicateNameError, FileError
from robot_cell_planner.exchange import import_moveit
from robot_cell_planner.model.geometry import MeshUse

JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="l{0}"/><child link="l{1}"/><origin xyz="0 0 0.4"/>'
    '<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
)
LINK = '<link name="l{0}"><collision><geometry><box size="0.1 0.1 0.2"/></geometry></collision></link>'
URDF = (
    '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="last" default="tip"/>'
    f'{"".join(map(LINK.format, range(3)))}{JOINT.format(0, 1)}{JOINT.format(1, 2)}<link name="$(arg last)"/>'
    '<joint name="end" type="fixed"><parent link="l2"/><child link="$(arg last)"/></joint></robot>'
)
SRDF = """<robot name="arm"><virtual_joint name="fixed_base" type="fixed" parent_frame="world" child_link="l0"/>
<group name="main"><chain base_link="l0" tip_link="l2"/></group>
<group_state name="home" group="main"><joint name="j0" value="0.25"/><joint name="j1" value="0.5"/></group_state>
<disable_collisions link1="l0" link2="l1" reason="Adjacent"/></robot>"""
SETTINGS = {
    "joint_limits": {
        "default_velocity_scaling_factor": 0.1,
        "joint_limits": {
            "j0": {"has_velocity_limits": True, "max_velocity": 0.5, "has_acceleration_limits": False},
            "gone": {"has_velocity_limits": True, "max_velocity": 2.0},
        },
    },
    "kinematics": {
        "main": {"kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin", "kinematics_solver_timeout": 0.05}
    },
    "ompl_planning": {
        "planner_configs": {"stars": {"type": "geometric::RRTstar", "range": 0.0}},
        "main": {"default_planner_config": "stars", "longest_valid_segment_fraction": 0.005},
    },
    "moveit_controllers": {
        "moveit_simple_controller_manager": {
            "controller_names": ["arm_controller", "hand"],
            "arm_controller": {"type": "FollowJointTrajectory", "action_ns": "follow_joint_trajectory"},
            "hand": {"type": "GripperCommand", "action_ns": "gripper_cmd"},
        }
    },
    "initial_positions": {"initial_positions": {"j0": -0.75, "gone": 1.0}},
    "sensors_3d": {"sensors": []},
}
SCENE = "scene\n* table\n0.5 0 0\n0 0 0 1\n1\nbox\n0.2 0.2 0.1\n0 0 0\n0 0 0 1\n0 0 0 0\n0\n.\n"


@pytest.fixture
def package(tmp_path):
    config = tmp_path / "arm_moveit_config" / "config"
    config.mkdir(parents=True)
    (config.parent / "package.xml").write_text("<package><name>arm_moveit_config</name></package>")
    (config / "arm.urdf.xacro").write_text(URDF)
    (config / "arm.srdf").write_text(SRDF)
    for name, value in SETTINGS.items():
        (config / f"{name}.yaml").write_text(yaml.safe_dump(value))
    (tmp_path / "table.scene").write_text(SCENE)
    return config.parent


def test_a_package_becomes_a_cell(package, tmp_path):
    made = import_moveit(package, tmp_path / "cell", scenes=(tmp_path / "table.scene",))
    robot = made.cell.robot
    assert robot.groups["main"].tip_link == "l2"
    assert [(pair.first, pair.second) for pair in robot.disabled_pairs] == [("l0", "l1")]
    assert robot.variables["j0"].limits.velocity == 0.5
    # The initial position precedes the named state, as in MoveIt's demo launch files.
    assert made.state.configuration == {"j0": -0.75, "j1": 0.5}
    assert made.state.bodies["table"].pose.position == (0.5, 0.0, 0.0)
    parameters = yaml.safe_load((tmp_path / "cell" / "parameters.yaml").read_text())
    assert parameters["/**/planning_node"]["ros__parameters"] == {"default_planner": "RRTstar"}
    assert parameters["/**/execution_node"]["ros__parameters"] == {
        "gripper_action": "hand/gripper_cmd",
        "gripper_action_type": "GripperCommand",
        "controller_actions": ["arm_controller/follow_joint_trajectory"],
    }
    text = "\n".join(made.left_out)
    for part in (
        "joint gone",
        "KDLKinematicsPlugin of main",
        "solver_timeout 0.05 of main",
        "velocity_scaling",
        "longest_valid",
        "sensors_3d.yaml",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("states", "start"),
    [
        ({"Home": 0.5}, 0.5),
        ({"READY": 0.5, "up": 0.75}, 0.5),
        ({"Default": 0.25, "Ready": 0.5}, 0.5),
        ({"HOME": 0.25, "home": 0.5, "Home": 0.75}, 0.5),
        ({"homes": 0.5}, 0.0),
    ],
)
def test_the_state_in_which_robots_start_is_found_in_any_case(package, tmp_path, states, start):
    groups = "".join(
        f'<group_state name="{name}" group="main"><joint name="j1" value="{value}"/></group_state>'
        for name, value in states.items()
    )
    srdf = re.sub("<group_state.*</group_state>", groups, SRDF)
    (package / "config" / "arm.srdf").write_text(srdf)
    assert import_moveit(package, tmp_path / "cell").state.configuration["j1"] == start


def test_the_cell_needs_no_file_of_the_package(package, tmp_path):
    made = import_moveit(package, tmp_path / "cell", xacro_arguments={"last": "flange"})
    assert "flange" in made.cell.robot.mechanism.links
    texts = [(tmp_path / "cell" / name).read_text() for name in made.files]
    assert not any("arm_moveit_config" in text for text in texts)


def test_one_of_several_descriptions_is_selected_by_an_option(package, tmp_path):
    (package / "config" / "arm.srdf").rename(package / "config" / "one.srdf")
    (package / "config" / "two.srdf").write_text(SRDF)
    with pytest.raises(FileError, match=r"config/one\.srdf, config/two\.srdf.*--srdf"):
        import_moveit(package, tmp_path / "cell")
    assert import_moveit(package, tmp_path / "cell", srdf="config/two.srdf").cell.robot.groups


def test_srdf_files_that_only_define_macros_are_no_candidates(package, tmp_path):
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    macro = '<xacro:macro name="arm_srdf" params="prefix"><group name="${prefix}main"/></xacro:macro>'
    (package / "config" / "arm.srdf").rename(package / "config" / "semantics.srdf")
    (package / "srdf").mkdir()
    (package / "srdf" / "_arm_macro.srdf.xacro").write_text(f"{head}{macro}</robot>")
    assert list(import_moveit(package, tmp_path / "cell").cell.robot.groups) == ["main"]


def move_description(package, folder):
    """Move the description to a package arm_description in a folder."""
    description = folder / "arm_description" / "urdf"
    description.mkdir(parents=True)
    (description.parent / "package.xml").write_text("<package><name>arm_description</name></package>")
    (package / "config" / "arm.urdf.xacro").rename(description / "arm.urdf.xacro")


ASSISTANT = """moveit_setup_assistant_config:
  urdf:
    package: arm_description
    relative_path: urdf/arm.urdf.xacro
    xacro_args: --inorder last:=flange
  srdf:
    relative_path: config/arm.srdf
  control_xacro:
    command: [position]
  modified_urdf:
    xacros: [control_xacro]
  control_xacro:
    command: [position]
"""


def test_the_setup_assistant_of_moveit_2_names_the_description_and_its_arguments(package, tmp_path):
    move_description(package, tmp_path)
    (package / ".setup_assistant").write_text(ASSISTANT)
    assert "flange" in import_moveit(package, tmp_path / "cell").cell.robot.mechanism.links
    given = import_moveit(package, tmp_path / "other", xacro_arguments={"last": "mine"})
    assert "mine" in given.cell.robot.mechanism.links


def test_arguments_of_the_setup_assistant_are_not_those_of_another_description(package, tmp_path):
    (package / ".setup_assistant").write_text(ASSISTANT)
    assert "tip" in import_moveit(package, tmp_path / "cell").cell.robot.mechanism.links
    move_description(package, tmp_path)
    urdf = str(tmp_path / "arm_description" / "urdf" / "arm.urdf.xacro")
    assert "tip" in import_moveit(package, tmp_path / "other", urdf=urdf).cell.robot.mechanism.links


def test_keys_that_the_setup_assistant_writes_twice_are_listed(package, tmp_path):
    text = (package / "config" / "moveit_controllers.yaml").read_text()
    twice = text.replace("action_ns: gripper_cmd", "action_ns: gripper_cmd\n    action_ns: grip")
    (package / "config" / "moveit_controllers.yaml").write_text(twice)
    made = import_moveit(package, tmp_path / "cell")
    parameters = yaml.safe_load((tmp_path / "cell" / "parameters.yaml").read_text())
    assert parameters["/**/execution_node"]["ros__parameters"]["gripper_action"] == "hand/grip"
    assert any("moveit_controllers.yaml:" in line and "'action_ns' twice" in line for line in made.left_out)


def test_a_folder_without_an_srdf_is_no_package(tmp_path):
    with pytest.raises(FileError, match=r"has no SRDF such as config/\*.srdf, expected a MoveIt configuration package"):
        import_moveit(tmp_path, tmp_path / "cell")


def test_the_setup_assistants_file_names_the_description(package, tmp_path):
    (package / "config" / "arm.urdf.xacro").rename(tmp_path / "elsewhere.urdf.xacro")
    with pytest.raises(
        FileError, match=r"has no description such as config/\*.urdf.xacro, and .setup_assistant names none"
    ):
        import_moveit(package, tmp_path / "cell")
    description = tmp_path / "arm_description"
    (description / "urdf").mkdir(parents=True)
    (description / "package.xml").write_text("<package><name>arm_description</name></package>")
    (tmp_path / "elsewhere.urdf.xacro").rename(description / "urdf" / "arm.urdf.xacro")
    named = {"URDF": {"package": "arm_description", "relative_path": "urdf/arm.urdf.xacro"}}
    (package / ".setup_assistant").write_text(yaml.safe_dump({"moveit_setup_assistant_config": named}))
    assert import_moveit(package, tmp_path / "cell").cell.robot.name == "arm"


def test_descriptions_in_packages_around_are_named(package, tmp_path):
    """As of repositories with a package for the description and one for the configuration, which names none."""
    (package / "config" / "arm.urdf.xacro").unlink()
    for name, files in (("cover_description", ["cover.urdf"]), ("arm_description", ["arm.urdf.xacro", "macros.xacro"])):
        urdf = tmp_path / name / "urdf" / "v2"
        urdf.mkdir(parents=True)
        (tmp_path / name / "package.xml").write_text(f"<package><name>{name}</name></package>")
        for file in files:
            (urdf / file).write_text(URDF)
    with pytest.raises(FileError, match=r"around it are (\S*arm\.urdf\.xacro), \S*cover\.urdf$") as caught:
        import_moveit(package, tmp_path / "cell")
    named = re.search(r"around it are (\S*),", str(caught.value))
    assert named is not None
    assert import_moveit(package, tmp_path / "cell", urdf=named[1]).cell.robot.name == "arm"


@pytest.mark.parametrize("node", ["/**", "move_group", ""])
def test_settings_may_be_parameters_of_nodes(package, tmp_path, node):
    """Files for `parameters=[...]` of a node have its name, ros__parameters and MoveIt's parameter around them."""
    for file, parameter in (
        ("joint_limits", "robot_description_planning"),
        ("kinematics", "robot_description_kinematics"),
    ):
        given = {parameter: SETTINGS[file]}
        text = yaml.safe_dump({node: {"ros__parameters": given}} if node else given)
        (package / "config" / f"{file}.yaml").write_text(text)
    planning = {"/**": {"ros__parameters": SETTINGS["ompl_planning"]}} if node else SETTINGS["ompl_planning"]
    (package / "config" / "ompl_planning.yaml").write_text(yaml.safe_dump(planning))
    made = import_moveit(package, tmp_path / "cell")
    assert made.cell.robot.variables["j0"].limits.velocity == 0.5
    text = "\n".join(made.left_out)
    assert "solver kdl_kinematics_plugin/KDLKinematicsPlugin of main" in text
    assert "parameters of stars" in text
    assert "ros__parameters" not in text
    assert "robot_description" not in text


@pytest.mark.parametrize(
    ("positions", "within", "listed"),
    [((-2.5, 1.0), (-2.0, 1.0), True), ((-1.0, 1.0), (-1.0, 1.0), False), ((3.0, 4.0), (-2.0, 2.0), True)],
)
def test_positions_that_leave_those_of_the_description_are_narrowed(package, tmp_path, positions, within, listed):
    """MoveIt lets them leave these. The robot was refused, with a line of a file that the package does not have."""
    low, high = positions
    limits = {"j0": {"has_position_limits": True, "min_position": low, "max_position": high}}
    (package / "config" / "joint_limits.yaml").write_text(yaml.safe_dump({"joint_limits": limits}))
    made = import_moveit(package, tmp_path / "cell")
    found = made.cell.robot.variables["j0"].limits
    assert (found.lower, found.upper) == within
    text = f"positions {low:g} to {high:g} of joint j0, which leave those of the description, -2 to 2: "
    assert any(line.startswith(text) for line in made.left_out) == listed


def test_each_mesh_is_checked_as_its_hull_or_as_convex_pieces(package, tmp_path):
    """The hull of a frame fills its opening, so that a robot with one collided in states in which MoveIt plans."""
    places = ((0.4, 0.05, 0, 0.175), (0.4, 0.05, 0, -0.175), (0.05, 0.3, 0.175, 0), (0.05, 0.3, -0.175, 0))
    sides = [trimesh.creation.box((x, y, 0.05)).apply_translation((at, to, 0)) for x, y, at, to in places]
    frame = trimesh.util.concatenate(sides)
    for name, mesh in (("frame", frame), ("block", trimesh.creation.box((0.1, 0.1, 0.2)))):
        mesh.export(package / f"{name}.stl")
    meshes = {
        i: f'<mesh filename="package://arm_moveit_config/{name}.stl"/>' for i, name in ((0, "frame"), (1, "block"))
    }
    urdf = URDF
    for i, mesh in meshes.items():
        urdf = urdf.replace(LINK.format(i), LINK.format(i).replace('<box size="0.1 0.1 0.2"/>', mesh))
    (package / "config" / "arm.urdf.xacro").write_text(urdf)
    made = import_moveit(package, tmp_path / "cell")
    links = made.cell.robot.mechanism.links
    assert [links[f"l{i}"].collisions[0].geometry.use.value for i in (0, 1)] == ["decomposition", "hull"]
    assert any("triangles (`--meshes exact`): 1 as convex pieces, 1 as hulls" in line for line in made.left_out)
    made = import_moveit(package, tmp_path / "exact", mesh_use=MeshUse.EXACT)
    assert made.cell.robot.mechanism.links["l0"].collisions[0].geometry.use is MeshUse.EXACT
    assert not any("triangles" in line for line in made.left_out)


def test_a_planner_of_another_library_is_listed(package, tmp_path):
    planning = {"planner_configs": {"p": {"type": "geometric::SBL"}}, "main": {"default_planner_config": "p"}}
    (package / "config" / "ompl_planning.yaml").write_text(yaml.safe_dump(planning))
    made = import_moveit(package, tmp_path / "cell")
    assert "planner SBL of main; here Automatic" in made.left_out


@pytest.mark.parametrize("factor", [True, 0.5])
def test_a_scaling_factor_other_than_one_is_listed(package, tmp_path, factor):
    limits = {"default_acceleration_scaling_factor": factor, "joint_limits": {}}
    (package / "config" / "joint_limits.yaml").write_text(yaml.safe_dump(limits))
    made = import_moveit(package, tmp_path / "cell")
    assert any(line.startswith(f"default_acceleration_scaling_factor {factor}") for line in made.left_out)


def test_bodies_of_two_scenes_have_different_names(package, tmp_path):
    with pytest.raises(DuplicateNameError, match="'table' of scene scene"):
        import_moveit(package, tmp_path / "cell", scenes=(tmp_path / "table.scene",) * 2)
    assert not (tmp_path / "cell").exists()


def test_malformed_settings_are_refused_with_their_line(package, tmp_path):
    (package / "config" / "kinematics.yaml").write_text("a: [1\nb: 2\n")
    with pytest.raises(FileError, match=r"kinematics\.yaml:\d"):
        import_moveit(package, tmp_path / "cell")


def test_command(package, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["import", "arm_moveit_config", "last:=flange", "--scene", "table.scene", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["folder"].endswith("arm_moveit_config_cell")
    assert "parameters.yaml" in answer["files"]
    assert main(["import", "arm_moveit_config", "--folder", "arm_moveit_config_cell"]) == 1
    assert main(["import", "table.scene", "--srdf", "x"]) == 2


def test_arguments_that_no_xacro_file_has_are_warnings(package, tmp_path, capsys):
    made = import_moveit(package, tmp_path / "cell", xacro_arguments={"lasst": "flange"})
    (warning,) = made.warnings
    assert "xacro argument 'lasst'" in warning
    assert "nearest: last" in warning
    assert not import_moveit(package, tmp_path / "other", xacro_arguments={"last": "flange"}).warnings
    command = ["import", str(package), "lasst:=flange", "--folder"]
    assert main([*command, str(tmp_path / "third")]) == 0
    assert f"warning {warning}" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "fourth"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [warning]


def test_an_argument_of_the_srdf_alone_is_known(package, tmp_path):
    xacro = 'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="start" default="0.25"/>'
    text = SRDF.replace('<robot name="arm">', f'<robot name="arm" {xacro}').replace('"0.25"/><', '"$(arg start)"/><')
    (package / "config" / "arm.srdf").rename(package / "config" / "arm.srdf.xacro").write_text(text)
    made = import_moveit(package, tmp_path / "cell", xacro_arguments={"start": "0.125"})
    assert made.cell.robot.named_states["main/home"]["j0"] == 0.125
    assert not made.warnings


def test_what_a_copy_leaves_out_is_a_warning(package, tmp_path):
    """The visual of a missing mesh is not copied, so that the written cell has no warning about it."""
    visual = '<visual><geometry><mesh filename="gone.stl"/></geometry></visual><collision>'
    (package / "config" / "arm.urdf.xacro").write_text(URDF.replace("<collision>", visual, 1))
    made = import_moveit(package, tmp_path / "cell")
    assert any("gone.stl" in text for text in made.warnings)
    assert not any("gone.stl" in text for text in made.cell.robot.sources.warnings)


def test_warnings_that_the_written_cell_has_are_not_repeated(package, tmp_path):
    (package / "config" / "arm.urdf.xacro").write_text(URDF.replace('size="', 'mass="1" size="', 1))
    made = import_moveit(package, tmp_path / "cell")
    assert any("attribute 'mass'" in text for text in made.cell.robot.sources.warnings)
    assert not made.warnings


def test_an_error_in_a_converted_file_names_the_package_and_no_file_that_is_removed(package, tmp_path):
    limits = package / "config" / "joint_limits.yaml"
    limits.write_text("joint_limits: {j0: {has_velocity_limits: true, max_velocity: .nan}}\n")
    with pytest.raises(FileError, match="is nan, expected a finite number") as caught:
        import_moveit(package, tmp_path / "cell")
    place = re.escape(f"{package}: converted joint_limits.yaml:")
    assert re.match(rf"{place}\d+: joint_limits\.j0\.max_velocity: is nan", caught.value.message)
    assert not (tmp_path / "cell").exists()


def move_into(package, folder, *names):
    """Move files of config/ to a folder of the package."""
    (package / folder).mkdir(parents=True)
    for name in names:
        (package / "config" / name).rename(package / folder / name)


@pytest.mark.parametrize("folder", ["config/arm", "config/srdf", "config/moveit", "srdf/arm"])
def test_settings_beside_the_srdf_are_read(package, tmp_path, folder):
    """Packages for several robots have the settings of each beside its SRDF, and common ones in config/."""
    move_into(package, folder, "arm.srdf", "joint_limits.yaml", "moveit_controllers.yaml")
    made = import_moveit(package, tmp_path / "cell")
    assert made.cell.robot.variables["j0"].limits.velocity == 0.5
    assert made.state.configuration["j0"] == -0.75  # of config/initial_positions.yaml
    parameters = yaml.safe_load((tmp_path / "cell" / "parameters.yaml").read_text())
    assert parameters["/**/execution_node"]["ros__parameters"]["gripper_action"] == "hand/gripper_cmd"
    assert [line for line in made.left_out if "settings in" in line] == ["settings in config/sensors_3d.yaml"]


def test_settings_beside_the_srdf_precede_those_of_config(package, tmp_path):
    move_into(package, "config/arm", "arm.srdf")
    limits = {"joint_limits": {"j0": {"has_velocity_limits": True, "max_velocity": 0.25}}}
    (package / "config" / "arm" / "joint_limits.yaml").write_text(yaml.safe_dump(limits))
    made = import_moveit(package, tmp_path / "cell")
    assert made.cell.robot.variables["j0"].limits.velocity == 0.25
    assert "settings in config/joint_limits.yaml, config/sensors_3d.yaml" in made.left_out


def test_joint_limits_of_other_robots_are_listed(package, tmp_path):
    move_into(package, "config/arm", "joint_limits.yaml")
    made = import_moveit(package, tmp_path / "cell")
    assert made.cell.robot.variables["j0"].limits.velocity == 1.0
    assert any(line.startswith("joint limits of other folders") and "config/arm/" in line for line in made.left_out)


def test_srdf_files_in_folders_below_are_listed(package, tmp_path):
    for robot in ("one", "two"):
        (package / "config" / robot).mkdir()
        (package / "config" / robot / f"{robot}.srdf").write_text(SRDF)
    (package / "config" / "arm.srdf").unlink()
    with pytest.raises(FileError, match=r"config/one/one\.srdf, config/two/two\.srdf.*--srdf"):
        import_moveit(package, tmp_path / "cell")


def test_files_below_do_not_replace_those_that_the_package_names(package, tmp_path):
    move_description(package, tmp_path)
    (package / ".setup_assistant").write_text(ASSISTANT)
    (package / "config" / "parts").mkdir()
    (package / "config" / "parts" / "hand.urdf").write_text('<robot name="hand"><link name="palm"/></robot>')
    assert "flange" in import_moveit(package, tmp_path / "cell").cell.robot.mechanism.links


PRO = """hardware:
  robot_description:
    urdf: {package: arm_description, path: urdf/arm.urdf.xacro}
    srdf: {package: arm_moveit_config, path: config/moveit/arm.srdf}
    urdf_params:
      - last: flange
      - visible: false
      - file: {package: arm_moveit_config, path: config/moveit/joint_limits.yaml}
"""


def test_moveit_pro_names_the_files_and_the_arguments(package, tmp_path):
    arguments = '<xacro:arg name="visible" default=""/><xacro:arg name="file" default=""/>'
    link = (
        '<xacro:property name="read" value="${xacro.load_yaml(xacro.arg(\'file\'))}"/><link name="of_$(arg visible)"/>'
    )
    fixed = '<joint name="more" type="fixed"><parent link="l2"/><child link="of_$(arg visible)"/></joint>'
    text = URDF.replace('<link name="l0">', f'{arguments}{link}{fixed}<link name="l0">')
    (package / "config" / "arm.urdf.xacro").write_text(text)
    move_description(package, tmp_path)
    move_into(package, "config/moveit", "arm.srdf", "joint_limits.yaml")
    (package / "config" / "moveit" / "others.srdf").write_text(SRDF)
    (package / "config" / "config.yaml").write_text(PRO)
    made = import_moveit(package, tmp_path / "cell")
    assert {"flange", "of_false"} <= made.cell.robot.mechanism.links.keys()
    assert made.cell.robot.variables["j0"].limits.velocity == 0.5
    assert not made.warnings


def test_an_srdf_that_the_package_names_and_does_not_have_hides_no_other(package, tmp_path):
    (package / ".setup_assistant").write_text(ASSISTANT)
    move_into(package, "config/arm", "arm.srdf")
    assert list(import_moveit(package, tmp_path / "cell").cell.robot.groups) == ["main"]


@pytest.mark.parametrize("kind", ["fixed", "planar", "floating"])
def test_virtual_joints_of_mobile_bases_are_listed(package, tmp_path, kind):
    """MoveIt plans motions of a base by them; here groups have no variables of them."""
    group = '<group name="all"><joint name="fixed_base"/><group name="main"/></group>'
    text = SRDF.replace('type="fixed"', f'type="{kind}"').replace("<group_state", f"{group}<group_state", 1)
    (package / "config" / "arm.srdf").write_text(text)
    made = import_moveit(package, tmp_path / "cell")
    assert made.cell.robot.groups["all"].variables == ("j0", "j1")
    assert [f"{kind} virtual joint fixed_base" in line for line in made.left_out].count(True) == (kind != "fixed")
