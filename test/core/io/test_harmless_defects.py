"""Harmless defects of a URDF are warnings: shapes of size zero, visuals without a shape, negative limits, surplus
materials, mimicry of joints that do not exist and robots without a name; so are incomplete elements of an SRDF."""

import pytest

from robot_cell_planner.errors import FileError, ResourceError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.robot_description.srdf import read_srdf
from robot_cell_planner.io.robot_description.urdf import read_urdf

POINTS = {
    "box": '<box size="0 0 0"/>',
    "sphere": '<sphere radius="0"/>',
    "cylinder": '<cylinder radius="0" length="0.0"/>',
    "capsule": '<capsule radius="0" length="0"/>',
}
PLATES = ('<box size="1 1 0"/>', '<cylinder radius="1" length="0"/>', '<cylinder radius="0" length="1"/>')


def link(part, shape, inner=""):
    return f"""<robot name="r"><link name="a">
<{part}><geometry>{shape}</geometry>{inner}</{part}><{part}><geometry><sphere radius="1"/></geometry></{part}>
</link></robot>"""


@pytest.mark.parametrize("part", ["visual", "collision"])
@pytest.mark.parametrize("kind", POINTS)
def test_shapes_of_size_zero_are_left_out_with_a_warning(part, kind):
    text, defects = link(part, POINTS[kind]), Defects()
    found = read_urdf(text, source="r.urdf", defects=defects).links["a"]
    assert len(found.visuals) + len(found.collisions) == 1
    (warning,) = defects.texts
    assert warning.startswith(f"r.urdf:2: <{kind}> has ")
    assert warning.endswith("the shape is left out")
    with pytest.raises(FileError, match="expected numbers above 0"):
        read_urdf(text)


@pytest.mark.parametrize("shape", PLATES)
def test_a_collision_shape_with_an_extent_is_not_left_out(shape):
    with pytest.raises(FileError, match="above 0"):
        read_urdf(link("collision", shape), defects=Defects())
    assert len(read_urdf(link("visual", shape), defects=Defects()).links["a"].visuals) == 1


@pytest.mark.parametrize("inner", ["", "<geometry/>", '<origin xyz="0 0 1"/>'])
def test_a_visual_without_a_shape_is_left_out_with_a_warning(inner):
    text = f'<robot name="r"><link name="a">\n<{{0}}>{inner}</{{0}}></link></robot>'
    defects = Defects()
    assert read_urdf(text.format("visual"), source="r.urdf", defects=defects).links["a"].visuals == ()
    (warning,) = defects.texts
    assert warning.startswith("r.urdf:2: <")
    assert warning.endswith("the shape is left out")
    with pytest.raises(FileError, match="geometry"):
        read_urdf(text.format("visual"))
    with pytest.raises(FileError, match="geometry"):  # the link could pass through anything there
        read_urdf(text.format("collision"), defects=Defects())


@pytest.mark.parametrize("name", ["velocity", "effort"])
def test_a_negative_limit_that_urdf_requires_counts_as_unknown_with_a_warning(name):
    text = f"""<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/>
<limit {name}="-1"/></joint></robot>"""
    defects = Defects()
    limits = read_urdf(text, source="r.urdf", defects=defects).joints["j"].limits
    assert getattr(limits, name) is None
    assert defects.texts == (
        f"r.urdf:3: <limit> has {name}='-1', expected a number of at least 0; the limit counts as unknown",
    )
    with pytest.raises(FileError, match=f"{name}='-1'"):
        read_urdf(text)


def test_the_first_of_two_materials_is_used_with_a_warning():
    colours = (
        '<material name="m"><color rgba="1 0 0 1"/></material><material name="n"><color rgba="0 1 0 1"/></material>'
    )
    text, defects = link("visual", '<sphere radius="1"/>', colours), Defects()
    shape = read_urdf(text, source="r.urdf", defects=defects).links["a"].visuals[0]
    assert (shape.material, shape.rgba) == ("m", (1.0, 0.0, 0.0, 1.0))
    (warning,) = defects.texts
    assert warning.startswith("r.urdf:2: <material> is the second one")
    with pytest.raises(FileError, match="second one"):
        read_urdf(text)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ('<color rgba="0.1 0.1 0.1 0 1"/>', "has rgba='0.1 0.1 0.1 0 1', expected 4 numbers"),
        ('<color rgba="255 0 0 1"/>', "has rgba='255 0 0 1', expected numbers from 0 to 1"),
        ("<color/>", "has no attribute 'rgba'"),
    ],
)
def test_a_colour_that_is_not_valid_is_left_out_with_a_warning(element, text):
    material = f'<material name="m">{element}<texture filename="t.png"/></material>'
    description, defects = link("visual", '<sphere radius="1"/>', material), Defects()
    shape = read_urdf(description, source="r.urdf", defects=defects).links["a"].visuals[0]
    assert (shape.material, shape.rgba, shape.texture) == ("m", None, "t.png")
    assert defects.texts == (f"r.urdf:2: <color> {text}; the colour is left out",)
    with pytest.raises(FileError, match="<color>"):
        read_urdf(description)


@pytest.mark.parametrize("owner", ["inertial", "collision", "joint"])
def test_the_first_of_two_origins_is_used_with_a_warning(owner):
    origins = '<origin xyz="1 0 0"/>\n<origin xyz="2 0 0"/>'
    parts = {"inertial": "", "collision": "", "joint": ""} | {owner: origins}
    text = f"""<robot name="r"><link name="a"/><link name="b">
<inertial>{parts["inertial"]}<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision>{parts["collision"]}<geometry><sphere radius="1"/></geometry></collision></link>
<joint name="j" type="fixed">{parts["joint"]}<parent link="a"/><child link="b"/></joint></robot>"""
    defects = Defects()
    found = read_urdf(text, source="r.urdf", defects=defects)
    inertial = found.links["b"].inertial
    assert inertial is not None
    poses = {
        "inertial": inertial.pose,
        "collision": found.links["b"].collisions[0].pose,
        "joint": found.joints["j"].origin,
    }
    assert {name: pose.position[0] for name, pose in poses.items()} == {name: float(name == owner) for name in poses}
    (warning,) = defects.texts
    assert "<origin> is the second one in" in warning
    assert warning.endswith("the first one is used")
    with pytest.raises(FileError, match="second one"):
        read_urdf(text)


@pytest.mark.parametrize(
    ("missing", "mass"), [("mass", None), ("inertia", 2.0)], ids=["without mass", "without inertia"]
)
def test_an_inertial_that_is_incomplete_is_used_as_far_as_possible(missing, mass):
    parts = {"mass": '<mass value="2"/>', "inertia": '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'}
    rest = "".join(text for name, text in parts.items() if name != missing)
    text, defects = f'<robot name="r"><link name="a">\n<inertial>{rest}</inertial></link></robot>', Defects()
    inertial = read_urdf(text, source="r.urdf", defects=defects).links["a"].inertial
    assert (None if inertial is None else inertial.mass) == mass
    (warning,) = defects.texts
    assert warning.startswith(f"r.urdf:2: <inertial> has no <{missing}>; link a has ")
    with pytest.raises(FileError, match=f"has no <{missing}>"):
        read_urdf(text)


def test_a_joint_that_mimics_one_that_does_not_exist_is_independent():
    joint = '<joint name="{0}" type="continuous"><parent link="a"/><child link="{0}"/>{1}</joint>'
    links = "".join(f'<link name="{name}"/>' for name in ("a", "left_q1", "left_q2"))
    joints = joint.format("left_q2", '\n<mimic joint="q1"/>') + joint.format("left_q1", "")
    text, defects = f'<robot name="r">{links}{joints}</robot>', Defects()
    found = read_urdf(text, source="r.urdf", prefix="x_", defects=defects)
    assert [variable.name for variable in found.variables] == ["x_left_q2", "x_left_q1"]
    assert defects.texts == (
        "r.urdf:2: <mimic> of left_q2: joint 'q1' does not exist; there are left_q1, left_q2; "
        "left_q2 follows no joint, its position is independent",
    )


@pytest.mark.parametrize("name", ["", ' name=""', ' name=" "'])
def test_a_robot_without_a_name_gets_one(name, tmp_path):
    text, defects = f'<robot{name}><link name="world"/></robot>', Defects()
    found = read_urdf(text, source="r.urdf", defects=defects)
    assert (found.name, list(found.links)) == ("robot", ["robot_world"])
    assert defects.texts == ("r.urdf:1: <robot> has no attribute 'name'; the robot is named robot",)
    file = tmp_path / "r.urdf"
    file.write_text(text)
    assert list(import_file(file, prefix="a_").cell.robots) == ["a_robot"]


def test_defects_that_differ_only_in_the_line_are_one_warning():
    joint = '<joint name="{0}" type="continuous"><parent link="a"/><child link="{0}"/>\n<axis rpy="0 0 0"/></joint>'
    names, defects = ("b", "c", "d"), Defects()
    links = "".join(f'<link name="{name}"/>' for name in ("a", *names))
    read_urdf(f'<robot name="r">{links}{"".join(map(joint.format, names))}</robot>', source="r.urdf", defects=defects)
    (warning,) = defects.texts
    assert warning.startswith("r.urdf:2: <axis> has the unknown attribute 'rpy'")
    assert warning.endswith("has no effect (also in lines 3, 4)")


def test_other_texts_of_defects_are_kept():
    defects, texts = Defects(), ("a.urdf:1: x", "b.urdf:2: x", "a.urdf:3: y", "no line", "a.urdf:4: x")
    for text in texts:
        defects.remark(text)
    assert defects.texts == ("a.urdf:1: x (also in line 4)", "b.urdf:2: x", "a.urdf:3: y", "no line")


def test_the_remedy_of_a_read_error_is_not_about_writing():
    with pytest.raises(FileError) as caught:
        read_urdf("<robot name='r'><link/></robot>")
    assert caught.value.remedy == "Correct the file at the position that the message gives."


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_only_the_direction_of_an_axis_of_rotation_counts(kind):
    joint = f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>\n<axis xyz="0 -3 4"/>'
    text = f'<robot name="r"><link name="a"/><link name="b"/>{joint}<limit lower="-1" upper="1"/></joint></robot>'
    if kind == "prismatic":
        with pytest.raises(FileError, match=r"r\.urdf:2: <axis> .* of length 5, expected length 1"):
            read_urdf(text, source="r.urdf", defects=Defects())
        return
    defects = Defects()
    assert read_urdf(text, source="r.urdf", defects=defects).joints["j"].axis == pytest.approx((0.0, -0.6, 0.8))
    assert defects.texts == ("r.urdf:2: <axis> has xyz='0 -3 4' of length 5, expected length 1; its direction is used",)
    with pytest.raises(FileError, match="of length 5"):
        read_urdf(text, source="r.urdf")


@pytest.mark.parametrize(
    ("element", "missing", "left"),
    [
        ('<virtual_joint type="floating" parent_frame="world" child_link="base"/>', "name", "virtual_joints"),
        ('<virtual_joint name="v" type="fixed" child_link="base"/>', "parent_frame", "virtual_joints"),
        ("<passive_joint/>", "name", "passive_joints"),
        ('<group_state group="arm"><joint name="j" value="0"/></group_state>', "name", "named_states"),
        ('<group_state name="s" group="arm"><joint name="j"/></group_state>', "value", "named_states"),
        ('<end_effector name="e" parent_link="base"/>', "group", "end_effectors"),
        ('<disable_collisions link1="base"/>', "link2", "disabled_pairs"),
    ],
)
def test_an_incomplete_element_of_an_srdf_is_left_out_with_a_warning(element, missing, left):
    """As MoveIt leaves it out; the rest of the file is read, and a strict reader refuses it."""
    mechanism = read_urdf(
        '<robot name="r"><link name="base"/><link name="tip"/><joint name="j" type="continuous">'
        '<parent link="base"/><child link="tip"/></joint></robot>'
    )
    text = f'<robot name="r">\n<group name="arm"><joint name="j"/></group>\n{element}</robot>'
    defects = Defects()
    found = read_srdf(text, mechanism, "r.srdf", defects=defects)
    assert list(found.groups) == ["arm"]
    assert not getattr(found, left)
    (warning,) = defects.texts
    assert warning.startswith("r.srdf:3: ")
    assert warning.endswith(f"has no attribute {missing!r}; this element is left out")
    with pytest.raises(FileError, match=f"has no attribute '{missing}'"):
        read_srdf(text, mechanism, "r.srdf", defects=Defects(strict=True))


def test_visual_meshes_that_cannot_be_used_are_one_warning(tmp_path):
    visual = "<visual><geometry><mesh filename='{}.stl'/></geometry></visual>"
    links = "".join(f"\n<link name='{name}'>{visual.format(name)}</link>" for name in "abc")
    joint = "<joint name='j{0}' type='fixed'><parent link='a'/><child link='{0}'/></joint>"
    joints = "".join(map(joint.format, "bc"))
    text = f"<robot name='r'>{links}{joints}</robot>"
    defects = Defects()
    assert not any(link.visuals for link in read_urdf(text, folder=str(tmp_path), defects=defects).links.values())
    (warning,) = defects.texts
    assert ":2: 'a.stl' is outside the allowed folders" in warning
    assert warning.endswith("; the mesh is not shown, and 2 more visual meshes cannot be used: b.stl, c.stl")
    with pytest.raises(ResourceError, match=r"a\.stl"):
        read_urdf(text, folder=str(tmp_path), defects=Defects(strict=True))
