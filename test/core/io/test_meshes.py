"""Meshes: sizes as read by coal's loader, hulls, the cache on disk, and invalid files."""

import numpy as np
import pytest
from robots import BULLET, ROBOTS

from robot_cell_planner.errors import FileError, GeometryError, LimitExceededError, ResourceError
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.io.mesh.loading import hull, load_mesh, mesh_reference
from robot_cell_planner.model.geometry import Mesh, MeshUse, Triangles

ANY = ResourceRoots(folders=("/",))
FILES = {
    "binary STL": ROBOTS / "panda_description/meshes/collision/link4.stl",
    "DAE with nodes": ROBOTS / "ur_description/meshes/ur5/visual/forearm.dae",
    "DAE of the Panda": ROBOTS / "panda_description/meshes/visual/finger.dae",
    "DAE with a broken material": ROBOTS / "anymal_b_simple_description/meshes/foot/anymal_foot.dae",
    "OBJ": BULLET / "kuka_iiwa/meshes/link_3.obj",
    "STL of the kuka": BULLET / "kuka_iiwa/meshes/link_3.stl",
}
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
CUBE_FACES = np.array(
    [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache on disk, and nothing in memory."""
    from robot_cell_planner.io.mesh import loading as meshes

    monkeypatch.setenv(mesh_cache.ENVIRONMENT, str(tmp_path / "cache"))
    for function in (meshes._scaled, meshes._from_file, meshes.hull):
        function.cache_clear()
    return tmp_path / "cache" / "meshes"


def reference(path, **options):
    return mesh_reference(str(path), "", ANY, **options)


def volume(data):
    a, b, c = (data.vertices[data.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0


@pytest.mark.parametrize("name", FILES)
def test_vertices_are_those_of_coals_loader(name):
    import coal

    data = load_mesh(reference(FILES[name]))
    theirs = coal.MeshLoader().load(str(FILES[name]), np.ones(3)).vertices()
    np.testing.assert_allclose(data.vertices.min(axis=0), theirs.min(axis=0), atol=2e-6)
    np.testing.assert_allclose(data.vertices.max(axis=0), theirs.max(axis=0), atol=2e-6)
    assert len(np.unique(data.vertices.astype(np.float32), axis=0)) == len(np.unique(theirs.astype(np.float32), axis=0))


def collada(unit="1", up="Z_UP", matrix="1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1", extra=""):
    numbers = " ".join(map(str, CUBE.ravel()))
    indices = " ".join(map(str, CUBE_FACES.ravel()))
    return f"""<?xml version="1.0"?>{extra}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="{unit}"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="24">{numbers}</float_array>
<technique_common><accessor source="#a" count="8" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="12"><input semantic="VERTEX" source="#v" offset="0"/><p>{indices}</p></triangles></mesh></geometry>
</library_geometries><library_visual_scenes><visual_scene id="s"><node id="outer"><matrix>{matrix}</matrix>
<node id="inner"><translate>10 0 0</translate><instance_geometry url="#g"/></node></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_unit_and_nodes_of_collada_count_its_up_axis_does_not(tmp_path, up):
    path = tmp_path / "cube.dae"
    path.write_text(collada("0.5", up, "0 -1 0 0 1 0 0 0 0 0 1 100 0 0 0 1"))
    data = load_mesh(reference(path))
    np.testing.assert_allclose(data.vertices.min(axis=0), [-1.0, 5.0, 50.0])
    np.testing.assert_allclose(data.vertices.max(axis=0), [0.0, 5.5, 51.5])


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "glb", "dae"])
def test_every_format(tmp_path, kind):
    import trimesh

    path = tmp_path / f"cube.{kind}"
    if kind == "dae":
        path.write_text(collada().replace("10 0 0", "0 0 0"))
    else:
        trimesh.Trimesh(CUBE, CUBE_FACES, process=False).export(path)
    data = load_mesh(reference(path))
    assert data.vertices.shape == (8, 3)
    assert data.faces.shape == (12, 3)
    assert volume(data) == pytest.approx(6.0)


def test_ascii_stl(tmp_path):
    import trimesh

    path = tmp_path / "cube.STL"
    path.write_text(trimesh.Trimesh(CUBE, CUBE_FACES, process=False).export(file_type="stl_ascii"))
    assert volume(load_mesh(reference(path))) == pytest.approx(6.0)


@pytest.mark.parametrize("scale", [(0.001, 0.001, 0.001), (2.0, 3.0, 4.0), (1.0, -1.0, 1.0), (-2.0, -1.0, -1.0)])
def test_scale_keeps_faces_outwards(scale):
    path = FILES["binary STL"]
    plain, scaled = load_mesh(reference(path)), load_mesh(reference(path, scale=scale))
    np.testing.assert_allclose(scaled.vertices, plain.vertices * scale)
    assert volume(scaled) == pytest.approx(volume(plain) * abs(np.prod(scale)))


def test_the_same_mesh_is_loaded_once():
    assert load_mesh(reference(FILES["OBJ"])) is load_mesh(reference(FILES["OBJ"]))


def test_data_cannot_be_changed():
    data = load_mesh(reference(FILES["OBJ"]))
    with pytest.raises(ValueError, match="read-only"):
        data.vertices[0, 0] = 1.0


@pytest.mark.parametrize("name", FILES)
def test_hull_contains_all_points_and_its_faces_point_outwards(name):
    mesh = reference(FILES[name])
    data, convex = load_mesh(mesh), hull(mesh)
    corners = convex.vertices[convex.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    heights = np.einsum("fk,nk->fn", normals, data.vertices) - np.einsum("fk,fk->f", normals, corners[:, 0])[:, None]
    assert heights.max() < 1e-6
    assert volume(convex) > 0.0
    edges = np.concatenate([convex.faces[:, (0, 1)], convex.faces[:, (1, 2)], convex.faces[:, (2, 0)]])
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}


def test_flat_meshes_have_no_hull():
    flat = Triangles(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0, 1, 2),))
    assert load_mesh(flat).faces.tolist() == [[0, 1, 2]]
    with pytest.raises(GeometryError, match="flat"):
        hull(flat)


def test_the_second_process_reads_the_cache(cache, monkeypatch):
    mesh = reference(FILES["binary STL"])
    first = load_mesh(mesh)
    assert [entry.name for entry in cache.iterdir()] == [f"{mesh.digest}.mesh"]
    from robot_cell_planner.io.mesh import loading as meshes

    meshes._from_file.cache_clear()
    meshes._scaled.cache_clear()
    monkeypatch.setattr(meshes, "parse_mesh", None)
    again = load_mesh(mesh)
    assert again is not first
    assert np.array_equal(again.vertices, first.vertices)
    assert np.array_equal(again.faces, first.faces)


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0)])
def test_the_second_process_reads_a_hull_without_computing_it(cache, monkeypatch, scale):
    """Hulls of other scales are others."""
    from robot_cell_planner.io.mesh import loading as meshes

    hull(reference(FILES["binary STL"]))
    mesh = reference(FILES["binary STL"], scale=scale)
    first = hull(mesh)
    computed = meshes.convex_hull(load_mesh(mesh).vertices, "")
    meshes.hull.cache_clear()
    monkeypatch.setattr(meshes, "convex_hull", None)
    again = hull(mesh)
    assert again is not first
    for found in (first, again):
        assert found.vertices.tobytes() == computed.vertices.tobytes()
        assert (found.faces.dtype, found.faces.tobytes()) == (computed.faces.dtype, computed.faces.tobytes())


@pytest.mark.parametrize("damage", ["cut", "altered", "empty", "other file", "other version", "folder"])
def test_a_damaged_cache_entry_is_recomputed(cache, damage, caplog):
    mesh = reference(FILES["binary STL"])
    first = load_mesh(mesh)
    entry = cache / f"{mesh.digest}.mesh"
    content = entry.read_bytes()
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    else:
        damages = {
            "cut": content[:-8],
            "altered": content[:-1] + b"\x7f",
            "empty": b"",
            "other file": b"x" + content,
            "other version": b"robot_cell_planner mesh 1\n" + content[len(mesh_cache.MAGIC) :],
        }
        entry.write_bytes(damages[damage])
    from robot_cell_planner.io.mesh import loading as meshes

    meshes._from_file.cache_clear()
    meshes._scaled.cache_clear()
    assert np.array_equal(load_mesh(mesh).vertices, first.vertices)
    # An entry of another version is not damaged, and there are thousands of them after an update.
    assert ("is damaged" in caplog.text) == (damage not in {"other version", "folder"})
    assert [left.name for left in cache.iterdir()] == [entry.name]
    if damage != "folder":
        assert entry.read_bytes() == content


def test_without_a_cache(cache, monkeypatch):
    monkeypatch.setenv(mesh_cache.ENVIRONMENT, "")
    load_mesh(reference(FILES["binary STL"]))
    assert not cache.exists()


def test_a_changed_file_is_read_again(cache, tmp_path):
    path = tmp_path / "part.dae"
    path.write_text(collada())
    before = reference(path)
    path.write_text(collada("2"))
    after = reference(path)
    assert before.digest != after.digest
    with pytest.raises(GeometryError, match="has changed"):
        load_mesh(before)
    assert volume(load_mesh(after)) == pytest.approx(48.0)


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
BAD = {
    "empty.stl": b"",
    "zeros.stl": bytes(84),
    "short.stl": bytes(80) + (2**31).to_bytes(4, "little") + bytes(50),
    "text.stl": b"solid x\nfacet normal 0 0 0\n",
    "nan.stl": bytes(80) + (1).to_bytes(4, "little") + np.full(12, np.nan, "<f4").tobytes() + bytes(2),
    "none.obj": b"",
    "points.obj": TRIANGLE.encode(),
    "beyond.obj": f"{TRIANGLE}f 1 2 9\n".encode(),
    "infinite.obj": b"v 0 0 1e999\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "dot.obj": b"v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n",
    "words.obj": b"v a b c\nf 1 2 3\n",
    "none.ply": b"",
    "cut.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1000000000\nproperty float x\nend_header\n",
    "none.glb": b"",
    "cut.glb": b"glTF" + (2).to_bytes(4, "little") + (2**31).to_bytes(4, "little") + b"xx",
    "none.dae": b"",
    "text.dae": b"hello",
    "nothing.dae": b'<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"/>',
    "entity.dae": collada(extra='<!DOCTYPE x [<!ENTITY a "b">]>').encode(),
    "wide.dae": collada(extra='<!DOCTYPE x [<!ENTITY a "b">]>').encode("utf-16"),
    "words.dae": collada().replace("0.0 0.0 0.0", "a b c").encode(),
    "beyond.dae": collada().replace("<p>0 1 3", "<p>0 1 99").encode(),
    "unit.dae": collada(unit="nan").encode(),
    "reference.dae": collada().replace('url="#g"', 'url="#none"').encode(),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_are_refused_by_name(tmp_path, cache, name):
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(GeometryError) as caught:
        load_mesh(reference(path))
    assert name in caught.value.message
    assert not list(cache.glob("*"))


def test_files_that_are_not_meshes(tmp_path):
    for name in ("part.step", "part", "part.png"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(GeometryError, match=r"\.dae, \.glb, \.gltf, \.obj, \.ply, \.stl"):
            reference(tmp_path / name)
    with pytest.raises(ResourceError):
        reference(tmp_path / "none.stl")
    (tmp_path / "folder.stl").mkdir()
    with pytest.raises(FileError):
        reference(tmp_path / "folder.stl")


def test_huge_files_are_refused(tmp_path):
    with open(tmp_path / "huge.stl", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(LimitExceededError):
        reference(tmp_path / "huge.stl")


def test_scales_that_make_a_mesh_huge_are_refused():
    with pytest.raises(GeometryError, match="larger"):
        load_mesh(reference(FILES["OBJ"], scale=(1e9, 1.0, 1.0)))


def test_a_reference_has_path_and_digest_of_the_file():
    mesh = reference(FILES["OBJ"], scale=(1.0, 2.0, 3.0), use=MeshUse.EXACT)
    assert isinstance(mesh, Mesh)
    assert mesh.path == str(FILES["OBJ"].resolve())
    assert len(mesh.digest) == 64
