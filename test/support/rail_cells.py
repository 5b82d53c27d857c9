"""A cell of an arm on a rail, which is part of its description, and a positioner with a part beside it."""

from robot_cell_planner.io.cell_file.cell_file import load_cell

# Six joints of an arm on a link "base_of_arm", up to "flange".
AXES = """<xacro:macro name="axis" params="number below above *origin"><link name="${above}"/>
  <joint name="joint_${number}" type="revolute"><parent link="${below}"/><child link="${above}"/>
  <xacro:insert_block name="origin"/><axis xyz="${'0 0 1' if number in (1, 4, 6) else '0 1 0'}"/>
  <limit lower="-3" upper="3" velocity="2" effort="100"/></joint></xacro:macro>
<xacro:axis number="1" below="base_of_arm" above="link_1"><origin xyz="0 0 0.4"/></xacro:axis>
<xacro:axis number="2" below="link_1" above="link_2"><origin xyz="0.1 0 0.1"/></xacro:axis>
<xacro:axis number="3" below="link_2" above="link_3"><origin xyz="0 0 0.5"/></xacro:axis>
<xacro:axis number="4" below="link_3" above="link_4"><origin xyz="0 0 0.25"/></xacro:axis>
<xacro:axis number="5" below="link_4" above="link_5"><origin xyz="0 0 0.25"/></xacro:axis>
<xacro:axis number="6" below="link_5" above="flange"><origin xyz="0 0 0.1"/></xacro:axis>"""
RAIL = """<robot name="arm_on_rail" xmlns:xacro="http://www.ros.org/wiki/xacro">
<link name="rail"/><link name="carriage"/>
<joint name="rail_joint" type="prismatic"><parent link="rail"/><child link="carriage"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="1" effort="1000"/></joint>
AXES</robot>""".replace("AXES", AXES.replace("base_of_arm", "carriage"))
SRDF = """<robot name="arm_on_rail"><group name="arm"><chain base_link="carriage" tip_link="flange"/></group>
<group name="arm_and_rail"><chain base_link="rail" tip_link="flange"/></group></robot>"""
POSITIONER = """<robot name="positioner"><link name="column"/><link name="table"/>
<joint name="tilt" type="revolute"><parent link="column"/><child link="table"/><origin xyz="0 0 0.6"/>
  <axis xyz="1 0 0"/><limit lower="-1.5" upper="1.5" velocity="1" effort="1"/></joint></robot>"""
CELL = """format: robot_cell/1
robots:
  arm_on_rail: {urdf: arm.urdf.xacro, srdf: arm.srdf}
  positioner: {urdf: positioner.urdf, base_pose: {position: [1.0, 0, 0]}}
bodies:
  part: {collisions: [{type: box, size: [0.2, 0.2, 0.1]}], attached_to: table, pose: {position: [0, 0, 0.05]}}
frames:
  seam: {attached_to: part, pose: {position: [0.05, 0, 0.05], rpy: [3.141592653589793, 0, 0]}}
"""


def rail_cell(folder):
    """Write the files of the cell to a folder; return its cell and state."""
    (folder / "arm.urdf.xacro").write_text(RAIL)
    (folder / "arm.srdf").write_text(SRDF)
    (folder / "positioner.urdf").write_text(POSITIONER)
    (folder / "cell.yaml").write_text(CELL)
    return load_cell(folder / "cell.yaml")


def bent_rail_cell(folder):
    """The cell of `rail_cell` in a folder, and a state with the rail in its middle and the arm bent."""
    cell, state = rail_cell(folder)
    bent = {"rail_joint": 0.0, "joint_1": 0.2, "joint_2": 0.6, "joint_3": 1.2, "joint_4": 0.1, "joint_5": 0.9}
    return cell, state.with_configuration(bent)
