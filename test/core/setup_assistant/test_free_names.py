"""A new cell can be loaded whatever the names in the description are, and a failed one leaves no files."""

import pytest
import trimesh

from robot_cell_planner.errors import FileError, RobotCellError
from robot_cell_planner.setup_assistant import cell_setup
from robot_cell_planner.setup_assistant.cell_setup import NewCellOptions, new_cell
from robot_cell_planner.setup_assistant.names import free_name
from robot_cell_planner.setup_assistant.options import DraftOptions

BOX = '<collision><origin xyz="0 0 0.04"/><geometry><box size="0.02 0.02 0.05"/></geometry></collision>'
QUICK = DraftOptions(samples=50)


def link(name):
    return f'<link name="{name}">{BOX}</link>'


def joint(name, parent, child, kind="revolute", axis="0 0 1", xyz="0 0 0.2", more=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        f'<axis xyz="{axis}"/><limit lower="0" upper="0.04" effort="10" velocity="1"/>{more}</joint>'
    )


def hand(parent):
    return [
        link("left_finger"),
        link("right_finger"),
        joint("finger_1", parent, "left_finger", "prismatic", "0 1 0", "0 0.02 0.1"),
        joint("finger_2", parent, "right_finger", "prismatic", "0 -1 0", "0 -0.02 0.1", '<mimic joint="finger_1"/>'),
    ]


def arm(links=("base", "a", "b", "c", "d"), joints=("j1", "j2", "j3", "j4")):
    parts = [link(name) for name in links]
    ends = zip(joints, links[:-1], links[1:], strict=True)
    return parts + [joint(*names, axis=("0 0 1", "0 1 0")[i % 2]) for i, names in enumerate(ends)]


@pytest.fixture
def make(tmp_path):
    def made(parts, name="r", added=None, overwrite=False):
        (tmp_path / f"{name}.urdf").write_text(f'<robot name="{name}">{"".join(parts)}</robot>')
        if added is not None:
            (tmp_path / "added.urdf").write_text(f'<robot name="g">{"".join(added)}</robot>')
        gripper = "" if added is None else str(tmp_path / "added.urdf")
        options = NewCellOptions(added=gripper, overwrite=overwrite, draft=QUICK)
        return new_cell(tmp_path / f"{name}.urdf", tmp_path / "out", options)

    return made


def test_the_frame_of_a_hand_is_tcp_if_that_is_free(make):
    assert list(make([*arm(), *hand("d")]).cell.frames) == ["tcp"]


def test_the_frame_of_a_hand_is_named_after_its_group_if_a_link_is_called_tcp(make):
    cell = make([*arm(), *hand("d"), '<link name="tcp"/>', joint("fixed", "d", "tcp", "fixed")]).cell
    assert list(cell.frames) == ["hand_tcp"]
    assert cell.frames["hand_tcp"].attached_to == "d"


def test_names_with_numbers_follow_if_these_are_taken_too(make):
    links = [f'<link name="{name}"/>' for name in ("tcp", "hand_tcp")]
    fixed = [joint("f1", "d", "tcp", "fixed"), joint("f2", "d", "hand_tcp", "fixed")]
    assert list(make([*arm(), *hand("d"), *links, *fixed]).cell.frames) == ["hand_tcp_2"]


@pytest.mark.parametrize("name, used", [("r", "r"), ("a r", "a_r"), ("röbot", "r_bot"), ("world", "robot")])
def test_a_robot_that_is_renamed_is_reported(make, name, used):
    made = make(arm(), name=name)
    renamed = [finding.text for finding in made.findings if finding.topic == "names"]
    assert list(made.cell.robots) == [used]
    assert renamed == [f"robot {used}: the description names it {name!r}, which is no name in a cell"] * (name != used)


@pytest.mark.parametrize("names", [("base", "a", "gripper", "c", "d"), ("base", "a", "b", "gripper/tcp", "d")])
def test_a_gripper_has_another_name_if_links_of_the_robot_have_its_name(make, names):
    made = make(arm(names), added=[link("palm"), *hand("palm")])
    assert list(made.cell.tools) == ["gripper_2"]
    assert {"gripper_2.urdf", "gripper_2_limits.yaml"} <= set(made.files)


def test_a_gripper_may_have_a_link_called_tcp(make):
    fixed = ['<link name="tcp"/>', joint("fixed", "palm", "tcp", "fixed")]
    tool = make(arm(), added=[link("palm"), *hand("palm"), *fixed]).cell.tools["gripper"]
    assert set(tool.mechanism.links) == {"palm", "left_finger", "right_finger", "g_tcp"}
    assert tool.mechanism.joints["fixed"].child == "g_tcp"


def test_a_gripper_for_a_robot_called_gripper_does_not_replace_its_description(make):
    made = make(arm(), name="gripper", added=[link("palm"), *hand("palm")], overwrite=True)
    assert list(made.cell.robots) == ["gripper"]
    assert list(made.cell.tools) == ["gripper_2"]
    assert "a" in made.cell.robot.mechanism.links


def test_a_robot_called_world_has_another_name(make):
    made = make(arm(("world", "a", "b", "c", "d")), name="world")
    assert list(made.cell.robots) == ["robot"]
    assert made.cell.robot.mechanism.root == "world_world"


def test_a_failed_new_cell_leaves_no_files_and_can_be_repeated(make, tmp_path, monkeypatch):
    def fails(*_):
        raise FileError("the disk is full", stage="test")

    with monkeypatch.context() as patch:
        patch.setattr(cell_setup, "check_cell", fails)
        with pytest.raises(RobotCellError, match="the disk is full"):
            make(arm(), added=[link("palm"), *hand("palm")])
    assert not (tmp_path / "out").exists()
    assert make(arm(), added=[link("palm"), *hand("palm")]).cell.tools


def test_a_failed_new_cell_leaves_files_that_were_there(make, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "r.srdf").write_text("mine")
    with pytest.raises(FileError, match=r"r\.srdf exists"):
        make(arm())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["r.srdf"]
    assert (tmp_path / "out" / "r.srdf").read_text() == "mine"


def test_free_names():
    assert free_name(("a", "b"), set()) == "a"
    assert free_name(("a", "b"), {"a"}) == "b"
    assert free_name(("a", "b"), {"a", "b", "b_2"}) == "b_3"
    assert free_name(("a",), {"a/x", "ab"}) == "a_2"


def test_a_mesh_that_is_there_is_replaced_only_if_that_is_allowed(tmp_path, make):
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "box.stl")
    there = tmp_path / "out" / "meshes" / "r" / "box.stl"
    there.parent.mkdir(parents=True)
    there.write_text("mine")
    shape = '<collision><geometry><mesh filename="box.stl"/></geometry></collision>'
    parts = [*arm(), f'<link name="end">{shape}</link>', joint("fixed", "d", "end", "fixed")]
    with pytest.raises(FileError, match=r"box\.stl exists"):
        make(parts)
    assert there.read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["meshes"]
    make(parts, overwrite=True)
    assert there.read_bytes() == (tmp_path / "box.stl").read_bytes()
