"""Scenes of COLLADA and glTF files: nodes with cameras, rotations about axes of any length, what is not read, and what
the cache has."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_mesh_limits import CUBE_BYTES, glb, gltf
from test_meshes import CUBE, CUBE_FACES, collada, reference, volume

from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.mesh import cache, process
from robot_cell_planner.io.mesh.loading import load_mesh
from robot_cell_planner.viewer.appearance import surfaces


def shown(mesh):
    """The points of a mesh as it is displayed."""
    return np.concatenate([np.asarray(surface.vertices).reshape(-1, 3) for surface in surfaces(mesh)])


def corners(points):
    return np.unique(np.round(np.asarray(points), 5) + 0.0, axis=0)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, 0.01), (1, 1, 1), (3, -4, 12)])
def test_the_axis_of_a_collada_rotation_has_any_length(tmp_path, axis):
    path = tmp_path / "cube.dae"
    rotate = f"<rotate>{axis[0]} {axis[1]} {axis[2]} 30</rotate>"
    path.write_text(collada().replace("<translate>10 0 0</translate>", rotate))
    turned = Rotation.from_rotvec(np.radians(30) * np.array(axis) / np.linalg.norm(axis)).apply(CUBE)
    np.testing.assert_allclose(corners(load_mesh(reference(path)).vertices), corners(turned), atol=2e-5)
    np.testing.assert_allclose(corners(shown(reference(path))), corners(turned), atol=2e-5)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("<translate>10 0 0</translate>", "<rotate>0 0 0 30</rotate>", "has no axis"),
        ("<translate>10 0 0</translate>", "<skew>45 1 0 0 0 1 0</skew>", "<skew>"),
        ('<scene><instance_visual_scene url="#s"/></scene>', "", "no <scene>"),
        (' xmlns="http://www.collada.org/2005/11/COLLADASchema"', "", "no namespace"),
    ],
)
def test_collada_files_that_cannot_be_read_are_refused_with_the_reason(tmp_path, old, new, reason):
    path = tmp_path / "cube.dae"
    assert old in collada()
    path.write_text(collada().replace(old, new))
    with pytest.raises(GeometryError, match=reason):
        load_mesh(reference(path))


def test_nodes_of_glb_files_with_cameras_keep_their_mesh_and_children(tmp_path):
    path = tmp_path / "cube.glb"
    camera = {"type": "perspective", "perspective": {"yfov": 0.7, "znear": 0.1}}
    nodes = [{"camera": 0, "mesh": 0, "children": [1]}, {"mesh": 0, "translation": [10, 0, 0]}]
    path.write_bytes(glb(gltf(nodes=nodes, scenes=[{"nodes": [0]}], cameras=[camera]), CUBE_BYTES))
    expected = corners(np.concatenate((CUBE, CUBE + np.array((10.0, 0.0, 0.0)))))
    np.testing.assert_allclose(corners(load_mesh(reference(path)).vertices), expected, atol=1e-5)
    np.testing.assert_allclose(corners(shown(reference(path))), expected, atol=1e-5)


def test_ascii_stl_may_be_in_capitals(tmp_path):
    import trimesh

    path = tmp_path / "cube.stl"
    path.write_text(trimesh.Trimesh(CUBE, CUBE_FACES, process=False).export(file_type="stl_ascii").upper())
    assert volume(load_mesh(reference(path))) == pytest.approx(6.0)


def test_coloured_parts_of_a_file_are_read_once(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    content, asked = collada().encode(), []
    ask = process._WORKER.ask
    monkeypatch.setattr(process._WORKER, "ask", lambda *args: asked.append(args[:2]) or ask(*args))
    first, again = (process.parse_painted(content, "dae", "cube.dae") for _ in range(2))
    process.parse_painted(content.replace(b"10 0 0", b"11 0 0"), "dae", "cube.dae")
    assert asked == [("dae", "painted")] * 2
    for (vertices, faces, colour), (same_vertices, same_faces, same_colour) in zip(first, again, strict=True):
        np.testing.assert_array_equal(vertices, same_vertices)
        np.testing.assert_array_equal(faces, same_faces)
        assert colour == same_colour
