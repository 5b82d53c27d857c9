"""Mesh files that are not whole are refused with the cause; what follows the triangles of a binary STL is ignored."""

import numpy as np
import pytest

from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.common.defects import Defects
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.mesh.loading import load_mesh, mesh_reference
from robot_cell_planner.io.robot_description.urdf import read_urdf

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
URDF = '<robot name="r"><link name="a"><{0}><geometry><mesh filename="{1}"/></geometry></{0}></link></robot>'


def stl(header=b"exported"):
    """A binary STL file with the four triangles of a tetrahedron."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
    triangles = (bytes(12) + points[list(face)].tobytes() + bytes(2) for face in faces)
    return header.ljust(80, b" ") + len(faces).to_bytes(4, "little") + b"".join(triangles)


def reference(folder, name, content):
    (folder / name).write_bytes(content)
    return mesh_reference(name, str(folder), ResourceRoots(folders=(str(folder),)))


def described(folder, kind, name):
    defects = Defects()
    roots = ResourceRoots(folders=(str(folder),))
    read_urdf(URDF.format(kind, name), str(folder), roots, "r.urdf", defects=defects)
    return defects.texts


@pytest.mark.parametrize("name", ["a.stl", "a.dae", "a.obj", "a.ply", "a.glb"])
def test_a_pointer_of_git_lfs_is_named_as_one(tmp_path, name):
    with pytest.raises(GeometryError, match=rf"{name} is a pointer of Git LFS, not the mesh$") as caught:
        load_mesh(reference(tmp_path, name, POINTER.encode()))
    assert "git lfs pull" in caught.value.remedy
    (warning,) = described(tmp_path, "visual", name)
    assert warning.endswith(f"{name} is a pointer of Git LFS, not the mesh; the mesh is not shown")


def test_a_binary_stl_file_that_is_cut_off_is_named_as_one(tmp_path):
    with pytest.raises(GeometryError, match="announces 4 triangles, and there are 2"):
        load_mesh(reference(tmp_path, "a.stl", stl()[:-75]))
    (warning,) = described(tmp_path, "visual", "a.stl")
    assert "announces 4 triangles, and there are 2" in warning


@pytest.mark.parametrize("header", [b"exported", b"solid exported"])
@pytest.mark.parametrize("rest", [b"", b"\0", b"\n\n", bytes(500)])
def test_what_follows_the_triangles_of_a_binary_stl_is_ignored(tmp_path, header, rest):
    mesh = load_mesh(reference(tmp_path, "a.stl", stl(header) + rest))
    assert (len(mesh.vertices), len(mesh.faces)) == (4, 4)
    assert described(tmp_path, "visual", "a.stl") == described(tmp_path, "collision", "a.stl") == ()


def big_endian():
    """The tetrahedron with each number in the other byte order."""
    content = stl()
    triangles = np.frombuffer(content[84:], dtype=[("numbers", "<f4", 12), ("attribute", "<u2")])
    turned = triangles.astype([("numbers", ">f4", 12), ("attribute", ">u2")])
    return content[:80] + len(triangles).to_bytes(4, "big") + turned.tobytes()


OBJ = b"# exported\no part\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
TEXT_STL = b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
OTHERS = {
    "an STL file with numbers in big-endian order": ("a.stl", big_endian(), "little-endian"),
    "a PNG image": ("a.stl", b"\x89PNG\r\n\x1a\n" + bytes(300), "of the mesh"),
    "a ZIP archive, or a format based on it such as 3MF": ("a.stl", b"PK\x03\x04" + b"\1" * 300, "Unpack"),
    "a web page": ("a.dae", b"\n<!DOCTYPE html>\n<html><body>404 Not Found</body></html>", "from its source"),
    "a STEP file": ("a.stl", b"ISO-10303-21;\nHEADER;\n" + 20 * b"FILE_DESCRIPTION\n", "Convert it"),
    "an OBJ file": ("a.stl", 4 * OBJ, "ends in .obj"),
    "a binary STL file": ("a.obj", stl(b"another"), "ends in .stl"),
    "a text STL file": ("a.ply", TEXT_STL + b"endsolid a\n", "ends in .stl"),
    "a COLLADA file": ("a.stl", b'<?xml version="1.0"?>\n<COLLADA xmlns="x">' + bytes(99), "ends in .dae"),
    "a GLB file": ("a.stl", b"glTF\2\0\0\0" + bytes(200), "ends in .glb"),
    "empty": ("a.stl", b"", "from its source"),
}


@pytest.mark.parametrize("found", OTHERS)
def test_what_another_format_is_named_is_said(tmp_path, found):
    name, content, remedy = OTHERS[found]
    with pytest.raises(GeometryError) as caught:
        load_mesh(reference(tmp_path, name, content))
    assert caught.value.message == f"{tmp_path / name} is not a readable {name[2:].upper()} mesh: it is {found}"
    assert remedy in caught.value.remedy
    (warning,) = described(tmp_path, "visual", name)
    assert f"mesh: it is {found}" in warning


def test_elements_of_other_programs_in_a_geometry_have_no_effect():
    text = """<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="a"><collision><geometry>
<sphere radius="1"/>
<drake:declare_convex/></geometry></collision></link></robot>"""
    defects = Defects()
    assert len(read_urdf(text, source="r.urdf", defects=defects).links["a"].collisions) == 1
    assert defects.texts == ("r.urdf:3: <drake:declare_convex> in <geometry> has no effect",)
