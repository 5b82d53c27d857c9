"""Arms for tests and benchmarks of kinematics, as cells of one robot without shapes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec
from frozendict import frozendict
from lxml import etree

from robot_cell_planner.io.common.resources import ResourceRoots, resolve
from robot_cell_planner.io.robot_description.limits import read_limits, with_default_limits
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.io.robot_description.xacro_files import expand_xacro
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism
from robot_cell_planner.model.robot import PlanningGroup, Robot

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = "package://example-robot-data/robots"
GROUP = "manipulator"
# Name: file, base link, tip link.
FILES = {
    "ur5": (f"{PUBLIC}/ur_description/urdf/ur5_robot.urdf", "base_link", "tool0"),
    "ur10": (f"{PUBLIC}/ur_description/urdf/ur10_robot.urdf", "base_link", "tool0"),
    "panda": (f"{PUBLIC}/panda_description/urdf/panda.urdf", "panda_link0", "panda_link8"),
    "xarm7": (f"{PUBLIC}/xarm_description/urdf/xarm7.urdf", "link_base", "link7"),
    "j2s6s200": (f"{PUBLIC}/kinova_description/robots/kinova.urdf", "j2s6s200_link_base", "j2s6s200_end_effector"),
}
ARMS = (*FILES, "demo", "rail")
CLOSED_FORM = ("ur5", "ur10", "demo")  # six joints, all solutions in closed form
REDUNDANT = ("panda", "xarm7", "rail")


@lru_cache(maxsize=16)
def arm(name: str) -> RobotCell:
    """The cell of an arm: "demo" is the demonstration's, "rail" the same on a rail of 3 m."""
    if name in FILES:
        uri, base, tip = FILES[name]
        path = resolve(uri)
        return _cell(name, _without_shapes(path.read_text(), str(path)), base, tip)
    path = ROOT / "urdf" / "arm.urdf.xacro"
    text = expand_xacro(path, {}, ResourceRoots(folders=(str(ROOT / "urdf"),)))
    mechanism = _without_shapes(text, str(path))
    limits = ROOT / "config" / "demo" / "joint_limits.yaml"
    mechanism = read_limits(limits.read_text(), mechanism, str(limits))
    if name == "demo":
        return _cell(name, mechanism, "base_link", "tool0")
    return _cell(name, on_rail(mechanism, 3.0), "rail", "tool0")


def urdf_of(name: str) -> Path:
    """The file of a public arm."""
    return resolve(FILES[name][0])


def on_rail(mechanism: Mechanism, length: float) -> Mechanism:
    """The mechanism on a carriage that moves along y, half of the length [m] to both sides."""
    limits = JointLimits(lower=-length / 2, upper=length / 2, velocity=1.0)
    carriage = Joint("rail_joint", JointKind.PRISMATIC, "rail", mechanism.root, axis=(0.0, 1.0, 0.0), limits=limits)
    return msgspec.structs.replace(
        mechanism,
        links=frozendict({"rail": Link("rail"), **mechanism.links}),
        joints=frozendict({"rail_joint": carriage, **mechanism.joints}),
    )


def _cell(name: str, mechanism: Mechanism, base: str, tip: str) -> RobotCell:
    mechanism = with_default_limits(mechanism)
    variables = tuple(variable for joint in mechanism.chain(base, tip) for variable in joint.variables)
    group = PlanningGroup(GROUP, variables, base_link=base, tip_link=tip)
    return RobotCell(name, frozendict({name: Robot(name, mechanism, frozendict({GROUP: group}))}))


def _without_shapes(text: str, source: str) -> Mechanism:
    root = etree.fromstring(text.encode())
    for element in list(root.iter("visual", "collision")):
        element.getparent().remove(element)
    return read_urdf(etree.tostring(root, encoding="unicode"), source=source)
