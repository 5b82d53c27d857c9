"""Robots of an audit: descriptions of packages, and some written here for mechanisms that those lack."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

from .urdf import SITE, located

PUBLIC = "package://example-robot-data/robots"


@dataclass(frozen=True)
class Source:
    """The source of a robot. base, tip: ends of its chain. others: joints to move besides those of the chain. reach
    [m]: how far from the base obstacles are put. above [m]: the height of the middle of its work space."""

    uri: str
    base: str
    tip: str
    others: tuple[str, ...] = ()
    reach: float = 0.9
    above: float = 0.4


SOURCES = {
    "panda": Source(
        f"{PUBLIC}/panda_description/urdf/panda.urdf", "panda_link0", "panda_hand", ("panda_finger_joint1",)
    ),
    "ur3": Source(f"{PUBLIC}/ur_description/urdf/ur3_robot.urdf", "base_link", "tool0", reach=0.55, above=0.25),
    "ur5": Source(f"{PUBLIC}/ur_description/urdf/ur5_robot.urdf", "base_link", "tool0"),
    "ur10": Source(f"{PUBLIC}/ur_description/urdf/ur10_robot.urdf", "base_link", "tool0", reach=1.2),
    "xarm7": Source(f"{PUBLIC}/xarm_description/urdf/xarm7.urdf", "link_base", "link7", reach=0.7),
    "kinova": Source(
        f"{PUBLIC}/kinova_description/robots/kinova.urdf", "j2s6s200_link_base", "j2s6s200_end_effector", reach=0.8
    ),
    "iiwa": Source(str(SITE / "pybullet_data" / "kuka_iiwa" / "model.urdf"), "lbr_iiwa_link_0", "lbr_iiwa_link_7"),
    "tiago": Source(
        f"{PUBLIC}/tiago_description/robots/tiago_no_hand.urdf", "base_link", "arm_tool_link", reach=0.9, above=0.8
    ),
    "rail": Source("rail.urdf", "rail", "tool0"),
    "pincer": Source("pincer.urdf", "base", "palm", ("grip",), reach=0.35, above=0.12),
    "slides": Source("slides.urdf", "base", "hand", reach=0.45, above=0.35),
}
ARM = "demo"  # the demonstration's arm, its gripper being part of the robot
DEMO_CELLS = ("demo_cell", "ur10_cell")  # the demonstration's files as they are
ROBOTIQ = "robotiq"  # the UR5 with gripper of a folder that is given
ROBOTS = (ARM, *DEMO_CELLS, *SOURCES)


def written(name: str) -> str:
    """The URDF text of a robot that is written here."""
    return {"rail": _rail, "pincer": _pincer, "slides": _slides}[name]()


def _rail() -> str:
    """A UR5 on a carriage that moves along y."""
    root = ElementTree.fromstring(located(SOURCES["ur5"].uri, SITE).read_text())
    for link in list(root.findall("link")):
        if link.get("name") == "world":
            root.remove(link)
    for joint in list(root.findall("joint")):
        parent = joint.find("parent")
        if parent is not None and parent.get("link") == "world":
            root.remove(joint)
    text = (
        "<robot>"
        + _link("rail", _box("0.3 3.2 0.06", "0 0 -0.13"))
        + _link("carriage", _box("0.36 0.5 0.04", "0 0 -0.06"))
        + _joint("rail_joint", "prismatic", "rail", "carriage", "0 0 0", "0 1 0", -1.3, 1.3)
        + _joint("arm_mount", "fixed", "carriage", "base_link", "0 0 0")
        + "</robot>"
    )
    root.extend(list(ElementTree.fromstring(text)))
    return ElementTree.tostring(root, encoding="unicode")


def _pincer() -> str:
    """A portal of two slides and a turn, with a finger that slides and one that swings: one variable moves both towards
    each other, the second faster, with an offset and by way of a joint between that moves nothing else."""
    return (
        '<robot name="pincer">'
        + _link("base", _box("0.1 0.9 0.04", "0 0 0.5"))
        + _link("beam", _box("0.06 0.06 0.06", "0 0 0"))
        + _link("post", '<cylinder radius="0.02" length="0.1"/>', "0 0 0.05")
        + _link("palm", _box("0.05 0.16 0.02", "0 0 0"))
        + _link("slider", _box("0.02 0.01 0.1", "0 0 0.05"))
        + _link("rocker", '<capsule radius="0.006" length="0.08"/>', "0 0 0.05")
        + _link("ghost")
        + _joint("travel", "prismatic", "base", "beam", "0 0 0.44", "0 1 0", -0.35, 0.35)
        + _joint("lift", "prismatic", "beam", "post", "0 0 -0.12", "0 0 1", -0.16, 0.0)
        + _joint("turn", "continuous", "post", "palm", "0 0 0", "0 0 1", 0.0, 0.0, rpy="3.14159265 0 0")
        + _joint("grip", "prismatic", "palm", "slider", "0 0.06 0.01", "0 -1 0", 0.0, 0.05)
        + _joint("between", "revolute", "palm", "ghost", "0 0 0.01", "1 0 0", -3.0, 3.0, mimic=("grip", -12.0, 0.2))
        + _joint("rock", "revolute", "palm", "rocker", "0 -0.03 0.01", "1 0 0", -1.5, 1.5, mimic=("between", 1.5, 0.1))
        + "</robot>"
    )


def _slides() -> str:
    """A telescope whose second stage follows the first, a turn, and a slide that follows the turn."""
    return (
        '<robot name="slides">'
        + _link("base", '<cylinder radius="0.09" length="0.2"/>', "0 0 0.1")
        + _link("stage", '<cylinder radius="0.05" length="0.2"/>', "0 0 0.1")
        + _link("column", '<cylinder radius="0.035" length="0.2"/>', "0 0 0.1")
        + _link("arm", _box("0.3 0.05 0.04", "0.12 0 0.03"))
        + _link("nut", '<capsule radius="0.02" length="0.1"/>', "0 0 0.05")
        + _link("hand", '<sphere radius="0.035"/>', "0 0 0.04")
        + _joint("raise", "prismatic", "base", "stage", "0 0 0.2", "0 0 1", 0.0, 0.18)
        + _joint("follow", "prismatic", "stage", "column", "0 0 0.12", "0 0 1", 0.0, 0.4, mimic=("raise", 2.0, 0.02))
        + _joint("swing", "revolute", "column", "arm", "0 0 0.2", "0 0 1", -3.1, 3.1)
        + _joint("screw", "prismatic", "arm", "nut", "0.24 0 -0.1", "0 0 1", -0.2, 0.2, mimic=("swing", 0.05, -0.01))
        + _joint("bend", "revolute", "nut", "hand", "0 0 -0.02", "0 1 0", 1.0, 3.1)
        + "</robot>"
    )


def _box(size: str, at: str) -> str:
    return f'<origin xyz="{at}"/><geometry><box size="{size}"/></geometry>'


def _link(name: str, shape: str = "", at: str = "") -> str:
    if not shape:
        return f'<link name="{name}"/>'
    inner = f'<origin xyz="{at}"/><geometry>{shape}</geometry>' if at else shape
    return f'<link name="{name}"><collision>{inner}</collision></link>'


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    at: str,
    axis: str = "1 0 0",
    lower: float = 0.0,
    upper: float = 0.0,
    *,
    rpy: str = "0 0 0",
    mimic: tuple[str, float, float] | None = None,
) -> str:
    follows = '<mimic joint="{}" multiplier="{}" offset="{}"/>'.format(*mimic) if mimic else ""
    limit = f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="100"/>' if kind != "fixed" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}" rpy="{rpy}"/><axis xyz="{axis}"/>{limit}{follows}</joint>'
    )
