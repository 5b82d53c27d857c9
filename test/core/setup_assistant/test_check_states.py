"""The check names collisions of a named state that its joints cause."""

import pytest

from robot_cell_planner.setup_assistant.check_file import check_cell_file

CELL = """format: robot_cell/1
name: c
robots:
  arm: {urdf: arm.urdf, srdf: arm.srdf}
bodies:
  part: {attached_to: finger, touch_links: [finger, tip], pose: {position: [0.4, 1, 0]},
         collisions: [{type: box, size: [0.1, 0.1, 0.1]}]}
state: {configuration: {slide: 0.0, grip: 0.0}}
"""
PLACES = {"base": (0.0, 0.0), "carriage": (0.05, 0.0), "palm": (0.0, 1.0), "finger": (0.2, 1.0), "tip": (0.6, 1.0)}
JOINTS = (("slide", "base", "carriage", ""), ("grip", "palm", "finger", ""), ("end", "finger", "tip", "grip"))
BOX = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
LINK = f'<link name="{{}}"><collision><origin xyz="{{}} {{}} 0"/>{BOX}</collision></link>'
SRDF = """<robot name="arm">
<group name="main"><joint name="slide"/></group>
<group name="hand"><joint name="grip"/></group>
<group_state name="near" group="main"><joint name="slide" value="0"/></group_state>
<group_state name="far" group="main"><joint name="slide" value="1"/></group_state>
<group_state name="open" group="hand"><joint name="grip" value="0"/></group_state>
<group_state name="closed" group="hand"><joint name="grip" value="GRIP"/></group_state></robot>"""


def joint(name, parent, child, mimicked):
    mimic = f'<mimic joint="{mimicked}"/>' if mimicked else ""
    return (
        f'<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>{mimic}'
        '<limit lower="-2" upper="2" effort="9" velocity="1"/><axis xyz="1 0 0"/></joint>'
    )


@pytest.fixture
def named(tmp_path):
    """The texts about named states in collision, by state, of a robot whose carriage overlaps the base at 0, with a
    finger beside a palm, and a tip that moves as far beyond the finger as that moves."""
    links = "".join(LINK.format(name, x, y) for name, (x, y) in PLACES.items())
    fixed = '<joint name="mount" type="fixed"><parent link="base"/><child link="palm"/></joint>'
    joints = "".join(joint(*row) for row in JOINTS)
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}{fixed}</robot>')
    (tmp_path / "cell.yaml").write_text(CELL)

    def check(grip):
        (tmp_path / "arm.srdf").write_text(SRDF.replace("GRIP", str(grip)))
        texts = [finding.text for finding in check_cell_file(tmp_path / "cell.yaml") if finding.topic == "state"]
        assert any(text.startswith("the state is in collision: base and carriage overlap") for text in texts)
        return dict(text.removeprefix("named state ").split(" is in collision: ") for text in texts if "named" in text)

    return check


def test_only_collisions_that_the_joints_of_a_named_state_cause_are_named(named):
    """The base and the carriage collide in all states of the hand, and each of them was named as in collision."""
    found = named(-0.15)
    assert found.keys() == {"main/near", "hand/closed"}
    assert "base" in found["main/near"]
    assert "palm and link finger" in found["hand/closed"].replace("link finger and link palm", "palm and link finger")
    assert "base" not in found["hand/closed"]


def test_joints_that_mimic_those_of_the_state_and_bodies_that_they_carry_count(named):
    """At -0.35 the tip, which has moved by twice that, is in the finger; the part on the finger is in the palm."""
    found = named(-0.35)
    assert "tip" in found["hand/closed"]
    assert "part" in found["hand/closed"]
