"""Arguments that no xacro file of a model has are noted: they have no effect, as with a misspelt name."""

import pytest

from robot_cell_planner.errors import UnknownNameError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.robot_description.loading import read_sources

XACRO = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">{}<link name="base"/></robot>'
USES = {
    "declared": '<xacro:arg name="size" default="1"/>',
    "declared in a file that is included": '<xacro:include filename="part.xacro"/>',
    "substituted": '<link name="$(arg size)"/>',
    "evaluated": '<link name="l$(eval size + 1)"/>',
    "in an expression": "<link name=\"l${xacro.arg('size')}\"/>",
}


def warnings(folder, urdf, arguments, srdf="", strict=False):
    (folder / "part.xacro").write_text(XACRO.format(USES["declared"]))
    for name, text in (("arm.urdf.xacro", urdf), ("arm.srdf.xacro", srdf)):
        (folder / name).write_text(XACRO.format(text))
    roots = ResourceRoots(folders=(str(folder),))
    files = ("arm.urdf.xacro", "arm.srdf.xacro" if srdf else "")
    return read_sources(*files, xacro_arguments=arguments, folder=folder, roots=roots, strict=strict).warnings


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_argument_that_a_file_has_is_not_noted(tmp_path, use):
    assert warnings(tmp_path, use, {"size": "2"}) == ()
    assert warnings(tmp_path, "", {"size": "2"}, srdf=use) == ()


def test_an_argument_that_no_file_has_is_noted_with_similar_ones(tmp_path):
    (text,) = warnings(tmp_path, USES["declared"], {"size": "2", "sise": "3"})
    expected = "arm.urdf.xacro: xacro argument 'sise' does not exist; nearest: size; the argument has no effect"
    assert text.endswith(expected)
    with pytest.raises(UnknownNameError, match="'sise'"):
        warnings(tmp_path, USES["declared"], {"sise": "3"}, strict=True)


def test_a_description_that_is_not_xacro_has_no_arguments(tmp_path):
    (tmp_path / "arm.urdf").write_text('<robot name="arm"><link name="base"/></robot>')
    roots = ResourceRoots(folders=(str(tmp_path),))
    found = read_sources("arm.urdf", xacro_arguments={"size": "2"}, folder=tmp_path, roots=roots)
    assert "xacro argument 'size' does not exist" in found.warnings[0]
