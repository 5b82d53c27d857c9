"""Robots of the same files: each combination of files and xacro arguments is read, and expanded, once for a cell."""

from robot_cell_planner.io.cell_file import reader
from robot_cell_planner.io.cell_file.cell_file import load_cell

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="upper" default="1"/>
<link name="base"/><link name="tip"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/>
<limit lower="-1" upper="$(arg upper)" velocity="1" effort="1"/></joint></robot>"""
CELL = """format: robot_cell/1
robots:
  one: {urdf: arm.xacro, prefix: one/}
  two: {urdf: arm.xacro, prefix: two/, meshes: exact}
  wide: {urdf: arm.xacro, prefix: wide/, xacro_arguments: {upper: 2}}
  also_wide: {urdf: arm.xacro, prefix: also_wide/, xacro_arguments: {upper: 2}}
"""


def test_files_of_equal_robots_are_read_once(tmp_path, monkeypatch):
    (tmp_path / "arm.xacro").write_text(ARM)
    (tmp_path / "cell.yaml").write_text(CELL)
    calls, read_sources = [], reader.read_sources

    def counted(*arguments, **named):
        calls.append(arguments[:4])
        return read_sources(*arguments, **named)

    monkeypatch.setattr(reader, "read_sources", counted)
    cell, _ = load_cell(tmp_path / "cell.yaml")
    assert [dict(arguments) for *_, arguments in calls] == [{}, {"upper": "2"}]
    uppers = {name: variable.limits.upper for name, variable in cell.variables.items()}
    assert uppers == {"one/turn": 1.0, "two/turn": 1.0, "wide/turn": 2.0, "also_wide/turn": 2.0}


def test_files_are_read_again_by_the_next_cell(tmp_path):
    (tmp_path / "arm.xacro").write_text(ARM)
    (tmp_path / "cell.yaml").write_text(CELL)
    load_cell(tmp_path / "cell.yaml")
    (tmp_path / "arm.xacro").write_text(ARM.replace('lower="-1"', 'lower="-3"'))
    cell, _ = load_cell(tmp_path / "cell.yaml")
    assert {variable.limits.lower for variable in cell.variables.values()} == {-3.0}
