"""Parts of files that are left out: a warning if a cell may need them, otherwise information."""

import logging

import pytest
from sdf_documents import document, link, model, read, world

from robot_cell_planner.errors import FileError
from robot_cell_planner.io.cell_file.cell_file import load_cell
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.io.sdformat.robot import sdf_to_urdf
from robot_cell_planner.setup_assistant.check_file import check_cell_file
from robot_cell_planner.setup_assistant.finding import WARNING

ARM = "<link name='a'/><link name='b'/><joint name='j' type='revolute'><parent>a</parent><child>b</child></joint>"
CONE = "<visual name='v'><geometry><heightmap/></geometry></visual>"
MESH = "<visual name='v'><geometry><mesh><uri>gone.stl</uri></mesh></geometry></visual>"
NEEDED = {
    "1 x actor": world("<actor name='worker'/>", model(link("l"))),
    "1 x modle": world("<modle name='table'/>", model(link("l"))),
    "2 x link": world("<link name='a'/>", "<link name='b'/>", model(link("l"))),
    "1 x population": world("<population name='boxes'/>", model(link("l"))),
    "1 x motion of revolute joint": world(model(ARM)),
    "1 x visual of a shape that has no counterpart": world(model(link("l", inner=CONE))),
}
HARMLESS = world("<gui/><light name='sun'/><physics/><plugin/>", model(link("l"), "<plugin/>"))
CELL = "format: robot_cell/1\ninclude:\n  - {file: shop.sdf, prefix: shop/}\n"


@pytest.fixture
def file(tmp_path):
    def written(content):
        (tmp_path / "shop.sdf").write_text(document(content))
        (tmp_path / "cell.yaml").write_text(CELL)
        return tmp_path / "cell.yaml"

    return written


def logged(caplog, level):
    return [record.getMessage() for record in caplog.records if record.levelno == level]


@pytest.mark.parametrize("line", NEEDED)
def test_parts_that_a_cell_may_need_are_warnings(file, line, caplog):
    assert line in read(NEEDED[line]).warnings
    cell_file = file(NEEDED[line])
    load_cell(cell_file)
    text = f"{cell_file.parent / 'shop.sdf'}: left out: {line}"
    assert text in logged(caplog, logging.WARNING)
    assert import_file(cell_file).warnings == (text,)
    assert [found.text for found in check_cell_file(cell_file) if found.level == WARNING] == [text]


def test_other_parts_are_information(file, caplog):
    caplog.set_level(logging.INFO)
    cell_file = file(HARMLESS)
    load_cell(cell_file)
    assert not logged(caplog, logging.WARNING)
    lines = [f"{cell_file.parent / 'shop.sdf'}: left out: 1 x {kind}" for kind in ("gui", "light", "physics")]
    assert logged(caplog, logging.INFO)[:3] == lines
    assert not check_cell_file(cell_file)
    assert not import_file(cell_file).warnings
    assert set(lines) < set(import_file(cell_file).left_out)


def test_defects_of_included_files_are_warnings(file, caplog):
    cell_file = file(world(model(link("l", inner=MESH))))
    load_cell(cell_file)
    (text,) = logged(caplog, logging.WARNING)
    assert text.startswith(f"{cell_file.parent / 'shop.sdf'}:2: ")
    assert text.endswith("the mesh is not shown")


def test_parts_of_an_sdf_robot_are_warnings_of_its_description():
    for element, warnings in (("<lnik name='b'/>", ("x.sdf: left out: 1 x lnik",)), ("<plugin/>", ())):
        defects = Defects(strict=False)
        sdf_to_urdf(document(model(link("a"), element)), source="x.sdf", defects=defects)
        assert defects.texts == warnings


@pytest.mark.parametrize("name", ["Link", "links", "lnk", "Joint", "joints", "jont", "Material"])
def test_misspelt_elements_of_a_urdf_are_warnings(name):
    text = f'<robot name="r">\n<link name="a"/>\n<{name} name="b"/></robot>'
    nearest = {"l": "link", "j": "joint", "m": "material"}[name[0].lower()]
    defects = Defects(strict=False)
    read_urdf(text, source="r.urdf", defects=defects)
    assert defects.texts == (f"r.urdf:3: <{name}> is no element of URDF; nearest: {nearest}; it is left out",)
    with pytest.raises(FileError, match=f"nearest: {nearest}"):
        read_urdf(text)


@pytest.mark.parametrize(
    "element",
    ["<gazebo/>", "<transmission/>", "<ros2_control/>", "<sensor/>", "<loop_joint/>", "<d:links xmlns:d='d'/>"],
)
def test_elements_of_other_programs_are_no_warnings(element):
    defects = Defects(strict=True)
    read_urdf(f'<robot name="r"><link name="a"/>{element}</robot>', defects=defects)
    assert not defects.texts
