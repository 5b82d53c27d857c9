"""SDFormat files: shapes, masses, colours, unsupported elements, and mistakes."""

import numpy as np
import pytest
from robots import BULLET
from sdf_documents import at, document, fill, include, joint, link, model, options, read, world

from robot_cell_planner.errors import (
    DuplicateNameError,
    FileError,
    FrameCycleError,
    GeometryError,
    LimitExceededError,
    NotSupportedError,
    ResourceError,
    RobotCellError,
)
from robot_cell_planner.io.common.resources import ResourceRoots, read_text
from robot_cell_planner.io.scene_import.sdformat import read_sdf
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, Mesh, MeshUse, Sphere, Triangles

MERGE = " merge='true'"
NO_ROTATION = "<pose rotation_format='quat_xyzw'>1 2 3 0 0 0 0</pose>"
ODD_ROTATION = "<pose rotation_format='x'>1</pose>"


@pytest.fixture
def library(tmp_path):
    return fill(tmp_path)


def geometry(text):
    return model(f"<link name='l'><collision name='c'><geometry>{text}</geometry></collision></link>")


def shape(text, **given):
    return read(geometry(text), **given).cell.bodies["m::l"].collisions[0]


def test_shapes():
    assert shape("<box><size>1 2 3</size></box>").geometry == Box((1.0, 2.0, 3.0))
    assert shape("<sphere><radius>2</radius></sphere>").geometry == Sphere(2.0)
    size = "<radius>1</radius><length>2</length>"
    assert shape(f"<cylinder>{size}</cylinder>").geometry == Cylinder(1.0, 2.0)
    assert shape(f"<capsule>{size}</capsule>").geometry == Capsule(1.0, 2.0)
    assert shape(f"<cone>{size}</cone>").geometry == Cone(1.0, 2.0)


def test_meshes():
    given = {"folder": str(BULLET), "roots": ResourceRoots(folders=(str(BULLET),))}
    mesh = shape("<mesh><uri>cube.obj</uri><scale>1 2 3</scale></mesh>", **given).geometry
    assert isinstance(mesh, Mesh)
    assert (mesh.scale, mesh.use) == ((1.0, 2.0, 3.0), MeshUse.EXACT)
    assert shape("<mesh><uri>cube.obj</uri></mesh>", mesh_use=MeshUse.HULL, **given).geometry.use is MeshUse.HULL


@pytest.mark.parametrize("normal", ["0 0 1", "0 0 -1", "1 0 0", "0 -2 0", "1 2 3"])
def test_planes_are_the_upper_side_of_a_box(normal):
    found = shape(f"<plane><normal>{normal}</normal><size>1 1</size></plane>")
    direction = np.array([float(v) for v in normal.split()])
    direction /= np.linalg.norm(direction)
    matrix = found.pose.matrix
    np.testing.assert_allclose(matrix[:3, 2], direction, atol=1e-12)
    np.testing.assert_allclose(matrix[:3, 3] + 0.5 * found.geometry.size[2] * matrix[:3, 2], 0.0, atol=1e-12)


def test_ellipsoids_are_enclosed_closely():
    found = shape("<ellipsoid><radii>1 2 3</radii></ellipsoid>").geometry
    assert isinstance(found, Triangles)
    vertices = np.array(found.vertices) / (1.0, 2.0, 3.0)
    corners = vertices[np.array(found.faces)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    distances = np.einsum("ij,ij->i", normals, corners[:, 0])
    assert distances.min() >= 1.0 - 1e-12
    assert np.linalg.norm(vertices, axis=1).max() < 1.03


def test_colours_names_and_masses():
    inertia = "<inertia><ixx>3</ixx><ixy>0.5</ixy></inertia>"
    ball = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    inner = (
        f"<inertial><pose>0 0 1 0 0 0</pose><mass>2</mass>{inertia}</inertial>"
        f"<visual name='v'><transparency>0.5</transparency>{ball}<material><ambient>0 0 0 1</ambient>"
        "<diffuse>1 0.5 0 1</diffuse></material></visual>"
        f"<visual name='w'>{ball}<material><ambient>0.1 0.2 0.3</ambient></material></visual>"
    )
    imported = read(model(f"<link name='l'>{inner}</link>"))
    body = imported.cell.bodies["m::l"]
    assert (body.inertial.mass, body.inertial.pose.position) == (2.0, (0.0, 0.0, 1.0))
    assert body.inertial.inertia == (3.0, 0.5, 0.0, 1.0, 0.0, 1.0)
    assert [(v.name, v.rgba) for v in body.visuals] == [("v", (1.0, 0.5, 0.0, 0.5)), ("w", (0.1, 0.2, 0.3, 1.0))]


def test_automatic_inertia():
    box = "<geometry><box><size>0.1 0.1 0.1</size></box></geometry>"
    imported = read(
        "<model name='m'><link name='l'><inertial auto='true'><density>500</density></inertial>"
        f"<collision name='a'>{box}</collision><collision name='e'><geometry><empty/></geometry></collision>"
        f"<collision name='b'><pose>0 0 1 0 0 0</pose><density>1500</density>{box}</collision></link></model>"
    )
    inertial = imported.cell.bodies["m::l"].inertial
    assert inertial.mass == pytest.approx(2.0)
    assert inertial.pose.position == pytest.approx((0.0, 0.0, 0.75))
    # Two small boxes on a line: about the centre 0.5 * 0.75^2 + 1.5 * 0.25^2, and their own m s^2 / 6.
    assert inertial.inertia[0] == pytest.approx(0.5 * 0.75**2 + 1.5 * 0.25**2 + 2.0 * 0.01 / 6.0)
    assert inertial.inertia[5] == pytest.approx(2.0 * 0.01 / 6.0)


def test_ignored_elements_are_reported():
    content = world("<gui/><light name='sun'/><plugin/><plugin/>", model(link("l"), "<plugin/>"))
    assert read(content).left_out == ("1 x gui", "1 x light", "3 x plugin")


def test_a_kuka_of_bullet():
    folder = BULLET / "kuka_iiwa"
    given = {"folder": str(folder), "roots": ResourceRoots(folders=(str(folder),))}
    imported = read_sdf(read_text(folder / "model.sdf", "test"), **given)
    assert len(imported.cell.bodies) == 8
    assert imported.state.bodies["lbr_iiwa::lbr_iiwa_link_7"].attached_to == "lbr_iiwa::lbr_iiwa_link_6"


MISTAKES = {
    "not XML": ("<model", FileError, "not well-formed"),
    "no name": ("<model/>", FileError, "'name'"),
    "nothing": ("", FileError, "neither a world nor a model"),
    "two worlds": ("<world name='a'/>\n<world name='b'/>", NotSupportedError, ":3: <world> is a second"),
    "double link": (model(f"{link('l')}\n{link('l')}"), DuplicateNameError, ":3: <link>"),
    "link like frame": (model(f"{link('l')}<frame name='l'/>"), DuplicateNameError, "'l'"),
    "link like joint": (model(f"{link('a')}{link('l')}{joint('l', 'a', 'l')}"), DuplicateNameError, "'l'"),
    "reserved": (model(link("__l__")), FileError, "reserved"),
    "reserved world": (model(link("world")), FileError, "reserved"),
    "separator": (model(link("a::b")), FileError, "reserved"),
    "odd name": (model(link("a;b")), FileError, "letters"),
    "unknown frame": (model(link("l", at("k"))), FileError, "'k'"),
    "frame of the world": (
        world(f"<frame name='o'/><model name='m'>{link('l')}<frame name='f' attached_to='o'/></model>"),
        FileError,
        "'o' does not exist",
    ),
    "the world inside a model": (model(f"{link('l')}<frame name='f' attached_to='world'/>"), FileError, "'world'"),
    "collision as frame": (model(f"{link('l')}<frame name='f' attached_to='c'/>"), FileError, "'c'"),
    "frame on itself": (model(f"{link('l')}<frame name='f' attached_to='f'/>"), FrameCycleError, "f -> m::f"),
    "frames in a ring": (
        model(f"{link('l')}<frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>"),
        FrameCycleError,
        "loop",
    ),
    "link by itself": (model(link("l", at("l"))), FrameCycleError, "loop"),
    "links in a ring": (model(link("a", at("b")), link("b", at("a"))), FrameCycleError, "loop"),
    "joint and child": (model(f"{link('p')}{link('c', at('j'))}{joint('j', 'p', 'c')}"), FrameCycleError, "loop"),
    "model by itself": (world(f"<model name='m'><pose relative_to='m'/>{link('l')}</model>"), FrameCycleError, "loop"),
    "model by its model": (
        world(f"<model name='m'><pose relative_to='__model__'/>{link('l')}</model>"),
        FileError,
        "__model__",
    ),
    "world frames in a ring": (
        "<world name='w'><frame name='a'><pose relative_to='b'/></frame><frame name='b'><pose relative_to='a'/></frame>"
        "</world>",
        FrameCycleError,
        "loop",
    ),
    "canonical link": (f"<model name='m' canonical_link='k'>{link('l')}</model>", FileError, "'k'"),
    "joint to nothing": (model(f"{link('l')}{joint('j', 'k', 'l')}"), FileError, "'k'"),
    "joint to itself": (model(f"{link('l')}{joint('j', 'l', 'l')}"), FileError, "parent of the same"),
    "joint to its own frame": (
        model(f"{link('l')}<frame name='f' attached_to='l'/>{joint('j', 'f', 'l')}"),
        FileError,
        "parent",
    ),
    "the world as child": (
        world(f"<model name='m'>{link('l')}</model>{joint('j', 'm', 'world')}"),
        FileError,
        "the world",
    ),
    "bodies in a ring": (
        model(f"{link('a')}{link('b')}{joint('j', 'a', 'b')}{joint('k', 'b', 'a')}"),
        FrameCycleError,
        "loop",
    ),
    "joint without child": (
        model(f"{link('l')}<joint name='j' type='fixed'><parent>l</parent></joint>"),
        FileError,
        "<child>",
    ),
    "five numbers": (model(link("l", "<pose>1 2 3 4 5</pose>")), FileError, "expected 6 numbers"),
    "NaN": (model(link("l", "<pose>1 2 nan 4 5 6</pose>")), FileError, "finite"),
    "no rotation": (model(link("l", NO_ROTATION)), FileError, "length 0"),
    "odd rotation": (model(link("l", ODD_ROTATION)), FileError, "'x'"),
    "two poses": (model(link("l", "<pose/><pose/>")), FileError, "second one"),
    "no shape": (geometry("<torus/>"), FileError, "no shape"),
    "two shapes": (geometry("<empty/><empty/>"), FileError, "expected one"),
    "negative": (geometry("<sphere><radius>-1</radius></sphere>"), FileError, "above 0"),
    "no radius": (geometry("<sphere/>"), FileError, "<radius>"),
    "flat ellipsoid": (geometry("<ellipsoid><radii>1 0 1</radii></ellipsoid>"), FileError, "above 0"),
    "no normal": (geometry("<plane><normal>0 0 0</normal></plane>"), FileError, "direction"),
    "height map": (geometry("<heightmap/>"), NotSupportedError, "no counterpart"),
    "submesh": (geometry("<mesh><uri>a.dae</uri><submesh/></mesh>"), NotSupportedError, "part of a mesh"),
    "missing mesh": (geometry("<mesh><uri>a.dae</uri></mesh>"), ResourceError, ":2: "),
    "mesh of another kind": (geometry("<mesh><uri>mug.sdf</uri></mesh>"), GeometryError, ":2: "),
    "colour": (
        "<model name='m'><link name='l'><visual name='v'><geometry><sphere><radius>1</radius></sphere></geometry>"
        "<material><diffuse>2 0 0 1</diffuse></material></visual></link></model>",
        FileError,
        "from 0 to 1",
    ),
    "negative mass": (model(link("l", inner="<inertial><mass>-1</mass></inertial>")), FileError, "mass is -1"),
    "no uri": ("<world name='w'><include/></world>", FileError, "<uri>"),
    "unknown model": (world(include("", "model://none")), ResourceError, ":2: "),
    "model outside": (world(include("", "../../mug.sdf")), ResourceError, ":2: "),
    "model of the web": (world(include("", "https://x/mug")), ResourceError, "scheme"),
    "a folder of no model": (world(include("", "models")), FileError, "model.config"),
    "parameters": (world(include("<joint/>")), NotSupportedError, "not read"),
    "placement without pose": (world(include("<placement_frame>body</placement_frame>")), FileError, "no <pose>"),
    "unknown placement": (world(include("<pose/><placement_frame>top</placement_frame>")), FileError, "'top'"),
    "the file's own name": (
        world(f"{include('<name>a</name>')}<frame name='f' attached_to='mug'/>"),
        FileError,
        "'mug'",
    ),
    "twice the same": (world(f"{include('')}{include('')}"), DuplicateNameError, "mug"),
    "merged names": (
        "<world name='w'><model name='m'>" + link("body") + include("", merge=MERGE) + "</model></world>",
        DuplicateNameError,
        "body",
    ),
    "merged into a world": (world(include("", merge=MERGE)), NotSupportedError, "world"),
}


ONLY_STRICT = ("negative mass",)  # otherwise a warning


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_refused(library, case):
    content, kind, expected = MISTAKES[case]
    with pytest.raises(kind, match=expected) as caught:
        read(content, **options(library), strict=case in ONLY_STRICT)
    assert type(caught.value) is kind
    assert ".sdf" in caught.value.message


@pytest.mark.parametrize(
    "text", ["<robot/>", "<sdf/>", "<sdf version='1.2'/>", "<sdf version='2.0'/>", "<sdf version='x'/>"]
)
def test_other_documents_and_versions_are_refused(text):
    with pytest.raises(FileError):
        read_sdf(text)


def test_endless_includes_are_refused(tmp_path):
    (tmp_path / "self.sdf").write_text(
        document("<model name='m'><link name='l'/>" + include("<name>again</name>", "self.sdf") + "</model>")
    )
    with pytest.raises(RobotCellError) as caught:
        read(f"<world name='w'>{include('', 'self.sdf')}</world>", **options(tmp_path))
    assert isinstance(caught.value, LimitExceededError)


def test_endless_merging_is_refused(tmp_path):
    inner = include("", "self.sdf", MERGE).replace("<uri>", "<name>n</name><uri>")
    (tmp_path / "self.sdf").write_text(document(f"<model name='m'><model name='x'>{inner}</model></model>"))
    with pytest.raises(LimitExceededError):
        read(world(model(include("", "self.sdf", MERGE))), **options(tmp_path))


def test_includes_that_multiply_are_refused(tmp_path):
    for i in range(8):
        inner = "".join(include(f"<name>i{k}</name>", f"m{i + 1}.sdf") for k in range(8))
        (tmp_path / f"m{i}.sdf").write_text(document(f"<model name='m'><link name='l'/>{inner}</model>"))
    (tmp_path / "m8.sdf").write_text(document("<model name='m'><link name='l'/></model>"))
    with pytest.raises(LimitExceededError):
        read(f"<world name='w'>{include('', 'm0.sdf')}</world>", **options(tmp_path))
