"""The topics of warnings about descriptions."""

import pytest

from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.setup_assistant.check import check_cell

CELL = "format: robot_cell/1\nname: c\nrobots:\n  arm: {urdf: arm.urdf, srdf: arm.srdf}\n"
URDF = """<robot name="arm"><link name="a">{0}</link><link name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"{1}/></joint></robot>"""
SRDF = """<robot name="arm"><group name="main"><chain base_link="a" tip_link="b"/></group>
<disable_collisions link1="a" link2="{0}"/></robot>"""
MISSING = '<visual><geometry><mesh filename="missing.stl"/></geometry></visual>'


@pytest.mark.parametrize("folder", ["cell", "meshes"])
@pytest.mark.parametrize(
    ("visual", "attribute", "link", "topic"),
    [
        ("", ' rpy="0 0 0"', "b", "description"),
        (MISSING, "", "b", "meshes"),
        ("", "", "gone", "srdf"),
    ],
)
def test_a_warning_has_the_topic_of_what_it_is_about(tmp_path, folder, visual, attribute, link, topic):
    (tmp_path / folder).mkdir()
    for name, text in (
        ("cell.yaml", CELL),
        ("arm.urdf", URDF.format(visual, attribute)),
        ("arm.srdf", SRDF.format(link)),
    ):
        (tmp_path / folder / name).write_text(text)
    cell, state = load_cell(tmp_path / folder / "cell.yaml")
    (warning,) = cell.robot.sources.warnings
    assert [finding.topic for finding in check_cell(cell, state) if warning in finding.text] == [topic]


@pytest.mark.parametrize(("shapes", "named"), [(0, False), (2, False), (3, True)])
def test_an_srdf_without_disabled_pairs_is_named_if_links_can_collide(tmp_path, shapes, named):
    box = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    links = "".join(f'<link name="{name}">{box if n < shapes else ""}</link>' for n, name in enumerate("abcd"))
    joint = '<joint name="{1}" type="continuous"><parent link="{0}"/><child link="{1}"/><origin xyz="0 0 0.3"/></joint>'
    joints = "".join(map(joint.format, "abc", "bcd"))
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    (tmp_path / "arm.srdf").write_text('<robot name="arm"><group name="g"><joint name="b"/></group></robot>')
    (tmp_path / "cell.yaml").write_text(CELL)
    texts = [finding.text for finding in check_cell(*load_cell(tmp_path / "cell.yaml"))]
    assert any("disables no pair" in text for text in texts) == named
