"""Text files of glTF are read as GLB files are, if their numbers are in the file itself, or in files of its folder."""

import base64
import hashlib
import json

import numpy as np
import pytest
from frozendict import frozendict
from test_mesh_limits import CUBE_BYTES, CUBE_GLTF, glb, gltf
from test_meshes import reference

from robot_cell_planner.cases import open_case, save_case
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import FileError, GeometryError, LimitExceededError, UnknownNameError
from robot_cell_planner.io import load_robot
from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.io.mesh import loading as meshes
from robot_cell_planner.io.mesh.content import content_digest, mesh_content
from robot_cell_planner.io.mesh.loading import check_visual_mesh, load_mesh
from robot_cell_planner.model.bodies import RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import Shape
from robot_cell_planner.planning import Goals, MotionRequest
from robot_cell_planner.setup_assistant.description_copy import copy_description
from robot_cell_planner.viewer.appearance import surfaces

PAINT = {"pbrMetallicRoughness": {"baseColorFactor": [1.0, 0.0, 0.0, 1.0]}}
PAINTED = {"meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}]}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv(mesh_cache.ENVIRONMENT, "")
    for function in (meshes._scaled, meshes._from_file, meshes.hull):
        function.cache_clear()


def embedded(numbers, kind="application/octet-stream"):
    return {"byteLength": len(numbers), "uri": f"data:{kind};base64,{base64.b64encode(numbers).decode()}"}


@pytest.fixture
def written(tmp_path):
    def write(**changes):
        document = {"asset": {"version": "2.0"}, **gltf(**{"buffers": [embedded(CUBE_BYTES)], **changes})}
        (tmp_path / "cube.gltf").write_text(json.dumps(document))
        return reference(tmp_path / "cube.gltf")

    return write


def test_the_mesh_is_that_of_the_glb_file(written, tmp_path):
    (tmp_path / "cube.glb").write_bytes(glb(CUBE_GLTF, CUBE_BYTES))
    expected, found = load_mesh(reference(tmp_path / "cube.glb")), load_mesh(written())
    np.testing.assert_array_equal(found.vertices, expected.vertices)
    np.testing.assert_array_equal(found.faces, expected.faces)


@pytest.mark.parametrize("odd", [0, 1, 3])
def test_several_buffers(written, odd):
    """Whatever their lengths are: a buffer need not end at a multiple of four bytes."""
    views = [
        {"buffer": 0, "byteOffset": 0, "byteLength": 96},
        {"buffer": 1, "byteOffset": 8, "byteLength": 144},
    ]
    first, second = CUBE_BYTES[:96] + bytes(odd), bytes(8) + CUBE_BYTES[96:]
    data = load_mesh(written(buffers=[embedded(first), embedded(second, "model/gltf-buffer")], bufferViews=views))
    assert len(data.faces) == 12
    np.testing.assert_array_equal(data.vertices, load_mesh(written()).vertices)


def test_the_file_may_begin_with_a_byte_order_mark(written):
    mesh = written()
    with open(mesh.path, "rb") as file:
        content = file.read()
    with open(mesh.path, "wb") as file:
        file.write(b"\xef\xbb\xbf" + content)
    mesh = reference(mesh.path)
    check_visual_mesh(mesh)
    assert len(load_mesh(mesh).faces) == 12


def in_file(uri):
    return {"byteLength": len(CUBE_BYTES), "uri": uri}


@pytest.mark.parametrize("uri", ["cube.bin", "%63ube.bin", "./parts/numbers of a cube.bin", "parts/../cube.bin"])
def test_numbers_in_files_of_its_folder_are_read(written, tmp_path, uri):
    (tmp_path / "parts").mkdir()
    for file in ("cube.bin", "parts/numbers of a cube.bin"):
        (tmp_path / file).write_bytes(CUBE_BYTES)
    mesh = written(buffers=[in_file(uri)])
    check_visual_mesh(mesh)
    np.testing.assert_array_equal(load_mesh(mesh).vertices, load_mesh(written()).vertices)
    (surface,) = surfaces(mesh := written(buffers=[in_file(uri)], **PAINTED, materials=[PAINT]))
    assert surface.rgba == (1.0, 0.0, 0.0, 1.0)
    assert mesh_content(mesh.path) == mesh_content(mesh.path)
    assert hashlib.sha256(mesh_content(mesh.path)).hexdigest() == mesh.digest


def test_a_changed_file_of_numbers_changes_the_mesh(written, tmp_path):
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES)
    mesh = written(buffers=[in_file("cube.bin")])
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES + b"....")
    assert reference(mesh.path).digest != mesh.digest
    with pytest.raises(GeometryError, match="has changed since the cell was read"):
        load_mesh(mesh)


def test_a_file_and_its_numbers_are_smaller_than_the_limit_together(written, tmp_path):
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES)
    written(buffers=[in_file("cube.bin")])
    size = (tmp_path / "cube.gltf").stat().st_size
    with pytest.raises(LimitExceededError, match=f"has {size + len(CUBE_BYTES)} bytes, expected at most"):
        content_digest(tmp_path / "cube.gltf", size + len(CUBE_BYTES) - 1)


def test_a_case_file_has_the_numbers(written, tmp_path):
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES)
    body = RigidBody("cube", collisions=(Shape(written(buffers=[in_file("cube.bin")])),))
    cell = RobotCell(bodies=frozendict({"cube": body}))
    request = MotionRequest(Goals(joint_goals=({"a": 1.0},)))
    save_case(tmp_path / "motion.case", cell, cell.default_state(), request, UnknownNameError("joint a"))
    (tmp_path / "cube.bin").unlink()
    with open_case(tmp_path / "motion.case") as case:
        (shape,) = case.cell.bodies["cube"].collisions
        assert len(load_mesh(shape.geometry).faces) == 12


def test_a_copy_of_a_description_has_the_numbers(written, tmp_path):
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES)
    written(buffers=[in_file("cube.bin")])
    link = '<link name="a"><collision><geometry><mesh filename="cube.gltf"/></geometry></collision></link>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{link}</robot>')
    sources = load_robot("arm", tmp_path / "arm.urdf").sources
    copy_description(sources, tmp_path / "copy", "arm", overwrite=False)
    (tmp_path / "cube.bin").unlink()
    assert len(load_mesh(reference(tmp_path / "copy" / "meshes" / "arm" / "cube.gltf")).faces) == 12


OUTSIDE = ["../cube.bin", "/etc/hostname", "http://localhost/cube.bin", "file:///etc/hostname", "link.bin", "a%00b"]


@pytest.mark.parametrize("uri", OUTSIDE)
def test_numbers_outside_of_its_folder_are_refused_with_what_to_do(written, tmp_path, uri):
    (tmp_path.parent / "cube.bin").write_bytes(CUBE_BYTES)
    (tmp_path / "link.bin").symlink_to(tmp_path.parent / "cube.bin")
    mesh = written(buffers=[in_file(uri)])
    for check in (load_mesh, check_visual_mesh):
        with pytest.raises(GeometryError) as caught:
            check(mesh)
        assert f"cube.gltf has its numbers in another file, {uri!r}, which is not in its folder" in caught.value.message
        assert ".glb" in caught.value.remedy


def test_missing_numbers_are_named(written, tmp_path):
    mesh = written(buffers=[in_file("cube.bin")])
    text = r"cube\.gltf has its numbers in 'cube\.bin', which resolves to .*: No such file"
    with pytest.raises(FileError, match=text):
        load_mesh(mesh)


def test_the_command_line_prints_what_to_do(written, tmp_path, capsys):
    written(buffers=[in_file("../cube.bin")])
    link = '<link name="a"><collision><geometry><mesh filename="cube.gltf"/></geometry></collision></link>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{link}</robot>')
    assert main(["new", str(tmp_path / "arm.urdf"), "--folder", str(tmp_path / "cell")]) == 1
    remedy = "-> Export the mesh as .glb, which is one file, or put its buffers into the folder of the mesh."
    assert remedy in capsys.readouterr().err


def test_colours_are_kept_and_images_in_other_files_do_not_matter(written):
    texture = {"pbrMetallicRoughness": {**PAINT["pbrMetallicRoughness"], "baseColorTexture": {"index": 0}}}
    images = {"images": [{"uri": "/etc/hostname"}], "textures": [{"source": 0}], "materials": [texture]}
    for changes in ({"materials": [PAINT]}, images):
        (surface,) = surfaces(written(**PAINTED, **changes))
        assert surface.rgba == (1.0, 0.0, 0.0, 1.0)
        assert len(surface.faces) == 12


MALFORMED = {
    "no JSON": b"glTF",
    "no object": b"[1]",
    "no base64": json.dumps(gltf(buffers=[{"byteLength": 240, "uri": "data:a/b;base64,?"}])).encode(),
    "no numbers": json.dumps(gltf(buffers=[{"byteLength": 240}])).encode(),
    "too few numbers": json.dumps(gltf(buffers=[{**embedded(CUBE_BYTES[:100]), "byteLength": 240}])).encode(),
    "text": json.dumps(gltf(buffers=[{"byteLength": 240, "uri": "data:text/plain,a"}])).encode(),
    "no buffer of a view": json.dumps(gltf(buffers=[])).encode(),
    "list": json.dumps({"nodes": 5, "buffers": 3}).encode(),
    "nested": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused_by_name(tmp_path, name):
    (tmp_path / "part.gltf").write_bytes(MALFORMED[name])
    with pytest.raises(GeometryError, match=r"part\.gltf is not a readable"):
        load_mesh(reference(tmp_path / "part.gltf"))


def test_a_file_that_expands_beyond_limits_is_refused(written):
    nodes = [*({"children": [i + 1, i + 1]} for i in range(40)), {"mesh": 0}]
    with pytest.raises(GeometryError, match="used more than"):
        load_mesh(written(nodes=nodes))
