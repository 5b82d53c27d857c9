"""Text files of glTF are read as GLB files are, if their numbers are in the file itself."""

import base64
import json

import numpy as np
import pytest
from test_mesh_limits import CUBE_BYTES, CUBE_GLTF, glb, gltf
from test_meshes import reference

from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.io.mesh import loading as meshes
from robot_cell_planner.io.mesh.loading import check_visual_mesh, load_mesh
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


@pytest.mark.parametrize("uri", ["cube.bin", "../cube.bin", "/etc/hostname", "http://localhost/cube.bin", "%63ube.bin"])
def test_numbers_in_another_file_are_refused_with_what_to_do(written, tmp_path, uri):
    """Also if the file is there, and with its name."""
    (tmp_path / "cube.bin").write_bytes(CUBE_BYTES)
    mesh = written(buffers=[{"byteLength": len(CUBE_BYTES), "uri": uri}])
    for check in (load_mesh, check_visual_mesh):
        with pytest.raises(GeometryError) as caught:
            check(mesh)
        assert f"cube.gltf has its numbers in another file, {uri!r}, which is not read" in caught.value.message
        assert ".glb" in caught.value.remedy


def test_the_command_line_prints_what_to_do(written, tmp_path, capsys):
    written(buffers=[{"byteLength": len(CUBE_BYTES), "uri": "cube.bin"}])
    link = '<link name="a"><collision><geometry><mesh filename="cube.gltf"/></geometry></collision></link>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{link}</robot>')
    assert main(["new", str(tmp_path / "arm.urdf"), "--folder", str(tmp_path / "cell")]) == 1
    assert "-> Export the mesh as .glb, which is one file." in capsys.readouterr().err


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
