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


def test_elements_of_other_programs_in_a_geometry_have_no_effect():
    text = """<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="a"><collision><geometry>
<sphere radius="1"/>
<drake:declare_convex/></geometry></collision></link></robot>"""
    defects = Defects()
    assert len(read_urdf(text, source="r.urdf", defects=defects).links["a"].collisions) == 1
    assert defects.texts == ("r.urdf:3: <drake:declare_convex> in <geometry> has no effect",)
