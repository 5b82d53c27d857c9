"""Mesh files that expand beyond limits, refer to other files, or crash their parser are refused with their name."""

import json
import os
import struct
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from test_meshes import BAD, CUBE, CUBE_FACES, FILES, collada, reference

from robot_cell_planner.errors import GeometryError
from robot_cell_planner.io.cell_file.reader import read_cell
from robot_cell_planner.io.common.resources import ResourceRoots
from robot_cell_planner.io.import_files import import_file
from robot_cell_planner.io.mesh import cache as mesh_cache
from robot_cell_planner.io.mesh import formats as mesh_formats
from robot_cell_planner.io.mesh import loading as meshes
from robot_cell_planner.io.mesh import process as mesh_process
from robot_cell_planner.io.mesh.formats import parse_binary_stl
from robot_cell_planner.io.mesh.loading import check_visual_mesh, load_mesh
from robot_cell_planner.io.mesh.process import parse_mesh
from robot_cell_planner.io.robot_description.urdf import read_urdf
from robot_cell_planner.viewer.appearance import surfaces

MARKER_MTL = "newmtl a\nmap_Kd /etc/hostname\n"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv(mesh_cache.ENVIRONMENT, "")
    for function in (meshes._scaled, meshes._from_file, meshes.hull):
        function.cache_clear()


def nested(levels, uses=10):
    """A cube that is used by nested nodes."""
    inner = '<instance_geometry url="#g"/>'
    nodes = "".join(
        f'<node id="n{level}">{(inner if level == 0 else f"""<instance_node url="#n{level - 1}"/>""") * uses}</node>'
        for level in range(levels)
    )
    text = collada().replace(
        "<library_visual_scenes>", f"<library_nodes>{nodes}</library_nodes><library_visual_scenes>"
    )
    return text.replace(
        '<instance_geometry url="#g"/></node></node>', f'<instance_node url="#n{levels - 1}"/></node></node>'
    )


def glb(document, binary=b"", version=2):
    text = json.dumps({"asset": {"version": "2.0"}, **document}).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary if binary else b""
    return b"glTF" + struct.pack("<II", version, 12 + len(chunks)) + chunks


CUBE_BYTES = CUBE.astype("<f4").tobytes() + CUBE_FACES.astype("<u4").tobytes()
CUBE_GLTF = {
    "buffers": [{"byteLength": len(CUBE_BYTES)}],
    "bufferViews": [
        {"buffer": 0, "byteOffset": 0, "byteLength": 96},
        {"buffer": 0, "byteOffset": 96, "byteLength": 144},
    ],
    "accessors": [
        {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
        {"bufferView": 1, "componentType": 5125, "count": 36, "type": "SCALAR"},
    ],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
    "nodes": [{"mesh": 0}],
    "scenes": [{"nodes": [0]}],
    "scene": 0,
}


def gltf(**changes):
    return {**CUBE_GLTF, **changes}


def doubling_nodes(levels):
    """Nodes each of which holds the next one twice."""
    return [*({"children": [i + 1, i + 1]} for i in range(levels)), {"mesh": 0}]


DRACO = "KHR_draco_mesh_compression"
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
BOMBS = {
    "nested.dae": nested(8).encode(),
    "wide.dae": nested(5, 30).encode(),
    "loop.dae": nested(3).replace('<node id="n0">', '<node id="n0"><instance_node url="#n2"/>').encode(),
    "deep.dae": collada().replace('<node id="inner">', '<node id="inner">' + "<node>" * 300).replace(
        '<instance_geometry url="#g"/>', '<instance_geometry url="#g"/>' + "</node>" * 300
    ).encode(),
    "laughs.dae": collada(
        extra="<!DOCTYPE x [" + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)) + "]>"
    ).encode(),
    "external.dae": collada(extra='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>').encode(),
    "nodes.glb": glb(gltf(nodes=doubling_nodes(40)), CUBE_BYTES),
    "loop.glb": glb(gltf(nodes=[{"mesh": 0}, {"children": [2]}, {"children": [1]}], scenes=[{"nodes": [1]}]), b""),
    "uses.glb": glb(
        gltf(
            accessors=[{"componentType": 5126, "count": 3_000_000, "type": "VEC3"}],
            meshes=[{"primitives": [{"attributes": {"POSITION": 0}}]}],
            nodes=[{"mesh": 0}] * 1000,
        )
    ),
    "count.glb": glb(gltf(accessors=[{"componentType": 5126, "count": 10**12, "type": "VEC3"}]), CUBE_BYTES),
    "negative.glb": glb(gltf(accessors=[{"componentType": 5126, "count": -5, "type": "VEC3"}]), CUBE_BYTES),
    "elsewhere.glb": glb(gltf(buffers=[{"byteLength": 240, "uri": "/etc/hostname"}])),
    "web.glb": glb(gltf(buffers=[{"byteLength": 240, "uri": "http://localhost/a"}])),
    "draco.glb": glb(gltf(extensionsRequired=[DRACO], meshes=[{"primitives": [
        {"attributes": {"POSITION": 0}, "extensions": {DRACO: {"bufferView": 0, "attributes": {}}}}
    ]}])),
    "list.glb": glb({"nodes": 5}),
    "version.glb": glb(CUBE_GLTF, CUBE_BYTES, version=1),
    "header.stl": bytes(80) + (2**32 - 1).to_bytes(4, "little") + bytes(500),
    "huge index.obj": f"{TRIANGLE}f 1 2 1000000000\n".encode(),
    "huge negative.obj": f"{TRIANGLE}f -1 -2 -1000000000\n".encode(),
    "huge number.obj": f"v {'9' * 5000} 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode(),
    "vertices.ply": b"ply\nformat ascii 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n0\n",
    "faces.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nelement face 999999999\n"
    b"property list uchar int vertex_indices\nend_header\n" + bytes(12),
    "list.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n" + bytes(36) + b"\xff" * 8,
    "pipe.obj": b"v 0 0 0 | cat /etc/hostname\n",
    "zip.glb": b"PK\x03\x04" + bytes(100),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_expands_beyond_limits_is_refused_with_its_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BOMBS[name])
    assert len(BOMBS[name]) < 200_000
    with pytest.raises(GeometryError) as caught:
        load_mesh(reference(path))
    assert name in caught.value.message
    assert "beyond its limit" not in caught.value.message  # counted, not run into


def test_nodes_that_are_used_more_than_once_are_read(tmp_path):
    (tmp_path / "three.dae").write_text(nested(2, 3))
    assert len(load_mesh(reference(tmp_path / "three.dae")).faces) == 9 * 12
    (tmp_path / "two.glb").write_bytes(
        glb(gltf(nodes=[{"mesh": 0}, {"mesh": 0, "translation": [10, 0, 0]}], scenes=[{"nodes": [0, 1]}]), CUBE_BYTES)
    )
    data = load_mesh(reference(tmp_path / "two.glb"))
    assert len(data.faces) == 24
    assert data.vertices[:, 0].max() == 11.0


def test_a_broken_texture_does_not_affect_the_geometry(tmp_path):
    changes = gltf(
        images=[{"bufferView": 0, "mimeType": "image/png"}],
        textures=[{"source": 0}],
        materials=[{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
    )
    (tmp_path / "cube.glb").write_bytes(glb(changes, CUBE_BYTES))
    assert len(load_mesh(reference(tmp_path / "cube.glb")).faces) == 12


NAMES_OF_OTHER_TIMES = {
    "cube.obj": "# Würfel\no Gehäuse\n" + TRIANGLE + "v 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "cube.stl": "solid Würfel\n" + "".join(
        f"facet normal 0 0 0\nouter loop\nvertex {a}\nvertex {b}\nvertex {c}\nendloop\nendfacet\n"
        for a, b, c in (("0 0 0", "0 1 0", "1 0 0"), ("0 0 0", "1 0 0", "0 0 1"), ("0 0 0", "0 0 1", "0 1 0"),
                        ("1 0 0", "0 1 0", "0 0 1"))
    ) + "endsolid Würfel\n",
    "cube.ply": "ply\nformat ascii 1.0\ncomment Würfel\nelement vertex 4\nproperty float x\nproperty float y\n"
    "property float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
    "3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n",
    "cube.dae": collada().replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="ENCODING"?><!-- Würfel -->'),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("name", NAMES_OF_OTHER_TIMES)
def test_any_encoding_of_texts_is_read(tmp_path, name, encoding):
    """trimesh guesses encodings with charset_normalizer, which is an optional dependency."""
    text = NAMES_OF_OTHER_TIMES[name].replace("ENCODING", "iso-8859-1" if encoding == "iso-8859-1" else "utf-8")
    for ending in ("\n", "\r\n"):
        (tmp_path / name).write_bytes(text.replace("\n", ending).encode(encoding))
        assert len(load_mesh(reference(tmp_path / name)).faces) in (4, 12)


def test_binary_ply_and_stl_with_any_encoding_of_the_header(tmp_path):
    import trimesh

    for kind in ("ply", "stl"):
        content = trimesh.Trimesh(CUBE, CUBE_FACES, process=False).export(file_type=kind)
        if kind == "ply":
            content = content.replace(b"\nelement vertex", b"\ncomment W\xfcrfel\nelement vertex", 1)
        else:
            content = b"solid W\xfcrfel".ljust(80) + content[80:]
        (tmp_path / f"cube.{kind}").write_bytes(content)
        assert len(load_mesh(reference(tmp_path / f"cube.{kind}")).faces) == 12


@pytest.mark.parametrize("name", ["binary STL", "STL of the kuka"])
def test_the_quick_reader_of_stl_agrees_with_trimesh(name):
    content = FILES[name].read_bytes()
    quick, thorough = parse_binary_stl(content, name), mesh_formats.parse_mesh(content, "stl", name)
    assert quick is not None
    assert all(np.array_equal(a, b) for a, b in zip(quick, thorough, strict=True))


def test_other_files_that_a_mesh_names_are_not_read(tmp_path):
    (tmp_path / "part.mtl").write_text(MARKER_MTL)
    (tmp_path / "part.obj").write_text(f"mtllib part.mtl\nmtllib /etc/hostname\n{TRIANGLE}usemtl a\nf 1 2 3\n")
    assert len(load_mesh(reference(tmp_path / "part.obj")).faces) == 1
    image = '<library_images><image id="i"><init_from>file:///etc/hostname</init_from></image></library_images>'
    (tmp_path / "part.dae").write_text(collada().replace("<library_geometries>", f"{image}<library_geometries>"))
    mesh = reference(tmp_path / "part.dae")
    assert len(load_mesh(mesh).faces) == sum(len(surface.faces) for surface in surfaces(mesh)) == 12


def test_a_damaged_file_to_show_is_not_shown(tmp_path, caplog):
    """Its first and last bytes are valid, so that it passes the quick check; the data between them is truncated."""
    content = collada()
    middle = content.index("</source>")
    (tmp_path / "part.dae").write_text(content[:middle] + content[middle + 9 :])
    mesh = reference(tmp_path / "part.dae")
    check_visual_mesh(mesh)
    with pytest.raises(GeometryError):
        load_mesh(mesh)
    assert surfaces(mesh) == ()
    assert "part.dae is not a readable DAE mesh" in caplog.text
    assert "the mesh is not shown" in caplog.text


def test_a_file_to_show_with_zero_bytes_is_found_at_the_entry(tmp_path):
    content = collada()
    middle = content.index("</source>")
    (tmp_path / "part.dae").write_text(content[:middle] + "\0" * 900 + content[middle + 9 :])
    with pytest.raises(GeometryError, match=r"part\.dae is not a readable DAE mesh"):
        check_visual_mesh(reference(tmp_path / "part.dae"))
    with pytest.raises(GeometryError, match="has a zero byte at"):
        load_mesh(reference(tmp_path / "part.dae"))


PARSER_WITHOUT_END = """
    import sys
    from robot_cell_planner.io.mesh import worker as mesh_worker
    mesh_worker.CPU_SECONDS = 1
    mesh_worker.MEMORY_BYTES = 1 << 31
    def endless(*_):
        while True: pass
    def hungry(*_):
        return bytearray(1 << 33)
    def crash(*_):
        import ctypes; ctypes.string_at(0)
    def nosy(*_):
        return open("/etc/passwd").read()
    def shell(*_):
        import os; return os.execv("/bin/true", ["true"])
    for parser in (endless, hungry, crash, nosy, shell):
        mesh_worker.parse_mesh = parser
        print(mesh_worker._answered({"what": "mesh", "kind": "stl", "path": "a.stl"}, b"").decode().strip())
"""


def test_a_parser_stops_at_its_limits():
    command = [sys.executable, "-c", textwrap.dedent(PARSER_WITHOUT_END)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    errors = [json.loads(line)["error"] for line in done.stdout.splitlines()]
    assert [error.split()[-1] for error in errors[:1]] == ["time"]
    assert "MemoryError" in errors[1]
    assert "limit" in errors[2]
    assert "PermissionError" in errors[3]
    assert "PermissionError" in errors[4]


def test_a_parser_that_was_killed_is_replaced():
    content = FILES["OBJ"].read_bytes()
    first = parse_mesh(content, "obj", "a.obj")
    mesh_process._WORKER.process.kill()
    again = parse_mesh(content, "obj", "a.obj")
    assert np.array_equal(first[0], again[0])


def test_a_parser_closes_its_descriptors():
    mesh_process.close_parser()
    before = set(os.listdir("/proc/self/fd"))
    parse_mesh(FILES["OBJ"].read_bytes(), "obj", "a.obj")
    mesh_process.close_parser()
    assert set(os.listdir("/proc/self/fd")) == before


URDF = '<robot name="r"><link name="base"><{0}><geometry><mesh filename="{1}"/></geometry></{0}></link></robot>'
SDF = """<sdf version="1.9"><model name="m"><link name="l"><{0} name="c"><geometry><mesh><uri>{1}</uri></mesh>
</geometry></{0}></link></model></sdf>"""
CELL = "format: robot_cell/1\nbodies:\n  part:\n    {0}s: [{{type: mesh, uri: {1}}}]\n"
FLAT = {"flat.obj": f"{TRIANGLE}f 1 2 3\n".encode()}
READERS = {
    "urdf": lambda text, folder, roots: read_urdf(text, str(folder), roots, "robot.urdf"),
    "yaml": lambda text, folder, roots: read_cell(text, str(folder), roots, "cell.yaml"),
    "sdf": lambda text, folder, roots: (
        (folder / "m.sdf").write_text(text),
        import_file(folder / "m.sdf", roots),
    ),
}
TEXTS = {"urdf": URDF, "yaml": CELL, "sdf": SDF}


@pytest.mark.parametrize(
    ("name", "kind"),
    # SDFormat's meshes are checked as their triangles, which may be flat.
    [(name, kind) for name in sorted({**BAD, **FLAT}) for kind in READERS if (name, kind) != ("flat.obj", "sdf")],
)
def test_a_mesh_that_cannot_be_checked_is_refused_where_it_is_named(tmp_path, name, kind):
    (tmp_path / name).write_bytes({**BAD, **FLAT}[name])
    roots = ResourceRoots(folders=(str(tmp_path),))
    with pytest.raises(GeometryError) as caught:
        READERS[kind](TEXTS[kind].format("collision", name), tmp_path, roots)
    place = {"urdf": "robot.urdf:1: ", "yaml": "bodies.part.collisions[0]: ", "sdf": "m.sdf:1: "}[kind]
    assert place in caught.value.message
    assert name in caught.value.message


@pytest.mark.parametrize("kind", ["urdf", "sdf"])
def test_a_visual_mesh_that_cannot_be_checked_is_accepted(tmp_path, kind):
    (tmp_path / "nan.stl").write_bytes(BAD["nan.stl"])
    READERS[kind](TEXTS[kind].format("visual", "nan.stl"), tmp_path, ResourceRoots(folders=(str(tmp_path),)))


def test_a_body_keeps_a_visual_that_cannot_be_read(tmp_path):
    (tmp_path / "nan.stl").write_bytes(BAD["nan.stl"])
    text = CELL.format("visual", "nan.stl") + "    collisions: [{type: sphere, radius: 1}]\n"
    cell, _ = (
        read_cell(text, "", ResourceRoots(folders=(str(tmp_path),)))
        if False
        else read_cell(text, str(tmp_path), ResourceRoots(folders=(str(tmp_path),)))
    )
    assert len(cell.bodies["part"].visuals) == 1
