"""Bad files and bad requests for the scene node, each with the error it must get."""

import math

import sdf_documents
import test_cell_file
import test_meshes
import test_moveit_scene
import test_sdf_files
import test_urdf
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from shape_msgs.msg import Mesh, MeshTriangle

from robot_cell_planner import srv
from robot_cell_planner.errors import (
    DuplicateNameError,
    FileError,
    FrameCycleError,
    GeometryError,
    InvalidRequestError,
    LimitExceededError,
    ModelError,
    ResourceError,
    RevisionConflictError,
    StateError,
    TransformLookupError,
    UnknownNameError,
)
from robot_cell_planner.msg import (
    BodyModel,
    BodyState,
    Configuration,
    Geometry,
    IgnoreGroup,
    Inertial,
    ModelFile,
    NamedFrame,
    NamedPose,
    RobotCell,
    RobotModel,
    SafetyMargin,
    SceneChange,
    Shape,
    ToolModel,
    ToolState,
)

C, G = SceneChange, Geometry
NAN, INF = math.nan, math.inf


def refused(cases, only_strict):
    """The cases that are errors without `strict`, too; the others are warnings."""
    return [case for name, case in cases.items() if name not in only_strict]


def fill(folder):
    """Write the bad files below a folder; returns their URIs and the errors that they must get."""
    cells, library, robots = folder / "cells", folder / "library", folder / "robots"
    for part in (cells, library, robots, folder / "meshes"):
        part.mkdir(parents=True)
    test_cell_file.fill(cells)
    sdf_documents.fill(library)
    (cells / "robots" / "other.srdf").write_text(
        '<robot name="x"><group name="manipulator"><joint name="q"/></group></robot>'
    )
    (cells / "meshes" / "bad.obj").write_text("v 0 0 x\nf 1 1 1")
    (robots / "cube.obj").write_text(test_cell_file.TETRAHEDRON)
    found = {}

    def add(path, content, kind):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        found[str(path.relative_to(folder))] = kind

    for index, (text, kind, _) in enumerate(test_cell_file.MISTAKES.values()):
        add(cells / f"cell{index}.yaml", text, kind)
    for index, (text, _, _) in enumerate(refused(test_urdf.BAD, test_urdf.ONLY_STRICT)):
        add(robots / f"robot{index}.urdf", text, FileError)
    for index, (text, kind, _) in enumerate(refused(test_sdf_files.MISTAKES, test_sdf_files.ONLY_STRICT)):
        add(library / f"model{index}.sdf", sdf_documents.document(text), kind)
    for index, end in enumerate(range(10, len(test_moveit_scene.NEW) - 10, 40)):
        add(folder / f"cut{index}.scene", test_moveit_scene.NEW[:end], FileError)
    for name, content in test_meshes.BAD.items():
        (folder / "meshes" / name).write_bytes(content)
        body = f"collisions: [{{type: mesh, uri: ../meshes/{name}, use: exact}}]"
        add(robots / f"{name}.yaml", f"format: robot_cell/1\nbodies: {{part: {{{body}}}}}\n", GeometryError)
    bomb = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    add(robots / "bomb.urdf", f'<!DOCTYPE r [<!ENTITY a0 "x">{bomb}]><robot name="&a9;"/>', FileError)
    add(library / "bomb.sdf", f'<!DOCTYPE r [<!ENTITY a0 "x">{bomb}]><sdf version="1.9">&a9;</sdf>', FileError)
    add(robots / "bomb.xacro", f'{head}<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/></robot>', FileError)
    add(robots / "reads.xacro", f'{head}<xacro:include filename="/etc/passwd"/></robot>', FileError)
    add(
        cells / "bomb.yaml",
        "a: &a [x, x]\n"
        + "".join(f"{c}: &{c} [{', '.join(['*' + p] * 99)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        LimitExceededError,
    )
    add(cells / "deep.yaml", "[" * 5000, LimitExceededError)
    add(folder / "part.step", "ISO-10303-21;", FileError)
    add(folder / "bytes.yaml", bytes(range(256)), FileError)
    for uri in (
        "none.yaml",
        "cells",
        "../cells/cell.yaml",
        "/etc/passwd",
        "file:///etc/passwd",
        "package://none/x.yaml",
        "https://example.org/cell.yaml",
        "x" * 5000 + ".yaml",
    ):
        found[uri] = ResourceError
    found["cells"] = FileError  # a folder
    return found


def pose(x=0.0, y=0.0, z=0.0, quaternion=(0.0, 0.0, 0.0, 1.0)):
    qx, qy, qz, qw = quaternion
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def adding(**models):
    """A change that adds models."""
    change = C(operation=C.ADD)
    for part, entries in models.items():
        setattr(change.models, part, entries)
    return change


def shaped(geometry, **more):
    return adding(bodies=[BodyModel(name="new", collision=[Shape(geometry=geometry, **more)])])


def box(*dimensions):
    return G(type=G.BOX, dimensions=dimensions)


def triangles(vertices, faces):
    mesh = Mesh(
        vertices=[Point(x=x, y=y, z=z) for x, y, z in vertices],
        triangles=[MeshTriangle(vertex_indices=list(face)) for face in faces],
    )
    return shaped(G(type=G.MESH, mesh=mesh))


CORNERS = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
ONE = [Shape(geometry=box(0.1, 0.1, 0.1))]


def with_inertial(**values):
    return adding(bodies=[BodyModel(name="new", collision=ONE, inertial=[Inertial(**values)])])


def placed(**places):
    change = adding(bodies=[BodyModel(name="new", collision=ONE)])
    for part, entries in places.items():
        setattr(change.states, part, entries)
    return change


def set_joints(names, positions):
    return C(operation=C.SET_JOINTS, configuration=Configuration(joint_names=names, positions=positions))


def collision(groups=(), margins=()):
    change = C(operation=C.SET_COLLISION)
    change.models.collision.ignore_groups = list(groups)
    change.models.collision.margins = list(margins)
    return change


def states(operation=C.SET_STATE, **parts):
    change = C(operation=operation)
    for part, entries in parts.items():
        setattr(change.states, part, entries)
    return change


def robot(urdf, **more):
    return adding(robots=[RobotModel(name="other", urdf=ModelFile(text=urdf), **more)])


def tool(**fields):
    return adding(tools=[ToolModel(name="new_tool", **fields)])


def following(name, frame="nil", x=0.0):
    request = srv.FollowFrame.Request(name=name, frame=frame)
    request.pose.position.x = x
    return request


LINK = '<robot name="r"><link name="other_base"/></robot>'
Invalid, Unknown, Twice = InvalidRequestError, UnknownNameError, DuplicateNameError
# Invalid changes, in the demo's cell.
CHANGES = {
    "operation 200": (C(operation=200), Invalid),
    "operation 14": (C(operation=14), Invalid),
    "default message": (C(), Invalid),
    "replace nothing": (C(operation=C.REPLACE), Invalid),
    "set no joints": (set_joints([], []), Invalid),
    "set no states": (states(), Invalid),
    "set no margins": (collision(), Invalid),
    "margins with objects": (C(operation=C.SET_COLLISION, models=RobotCell(bodies=[BodyModel(name="new")])), Invalid),
    "remove nothing": (C(operation=C.REMOVE), Invalid),
    "remove unknown": (C(operation=C.REMOVE, name="binn"), Unknown),
    "remove a link": (C(operation=C.REMOVE, name="tool0"), Unknown),
    "remove a carrier": (C(operation=C.REMOVE, name="bin"), Invalid),
    "remove the robot that carries the tool": (C(operation=C.REMOVE, name="arm"), Invalid),
    "move unknown": (C(operation=C.MOVE, name="nobody", pose=pose()), Unknown),
    "move a link": (C(operation=C.MOVE, name="tool0", pose=pose()), Unknown),
    "move to infinity": (C(operation=C.MOVE, name="bin", pose=pose(x=INF)), Invalid),
    "move unknown reference": (C(operation=C.MOVE, name="bin", pose=pose(), relative_to="bni"), TransformLookupError),
    "move relative to itself": (C(operation=C.MOVE, name="bin", pose=pose(), relative_to="bin"), Invalid),
    "move relative to what it carries": (C(operation=C.MOVE, name="bin", pose=pose(), relative_to="place"), Invalid),
    "move without rotation": (C(operation=C.MOVE, name="bin", pose=pose(quaternion=(0.0,) * 4)), Invalid),
    "move with a long rotation": (C(operation=C.MOVE, name="bin", pose=pose(quaternion=(0.0, 0, 0, 2.0))), Invalid),
    "move with half a rotation": (C(operation=C.MOVE, name="bin", pose=pose(quaternion=(NAN, 0.0, 0.0, 1.0))), Invalid),
    "move with a carrier": (C(operation=C.MOVE, name="bin", pose=pose(), attach_to="tool0"), Invalid),
    "move with touch links": (C(operation=C.MOVE, name="bin", pose=pose(), touch_links=["tool0"]), Invalid),
    "attach NaN": (C(operation=C.ATTACH, name="workpiece", attach_to="tool0", pose=pose(x=NAN)), Invalid),
    "attach unknown": (C(operation=C.ATTACH, name="nobody", attach_to="tool0", pose=pose()), Unknown),
    "attach to unknown": (C(operation=C.ATTACH, name="workpiece", attach_to="tool", pose=pose()), Unknown),
    "attach to itself": (C(operation=C.ATTACH, name="bin", attach_to="bin", pose=pose()), FrameCycleError),
    "attach a tool to a link": (C(operation=C.ATTACH, name="gripper", attach_to="tool0", pose=pose()), Unknown),
    "attach a body to a group": (C(operation=C.ATTACH, name="bin", attach_to="manipulator", pose=pose()), Unknown),
    "attach, touch link twice": (
        C(operation=C.ATTACH, name="bin", attach_to="tool0", pose=pose(), touch_links=["tool0", "tool0"]),
        Invalid,
    ),
    "attach, touch unknown": (
        C(operation=C.ATTACH, name="bin", attach_to="tool0", pose=pose(), touch_links=["tool9"]),
        Unknown,
    ),
    "grip in a loop": (C(operation=C.ATTACH_IN_PLACE, name="bin", attach_to="place"), FrameCycleError),
    "grip itself": (C(operation=C.ATTACH_IN_PLACE, name="workpiece", attach_to="workpiece"), FrameCycleError),
    "grip with a reference": (
        C(operation=C.ATTACH_IN_PLACE, name="bin", attach_to="tool0", relative_to="world"),
        Invalid,
    ),
    "detach what is free": (C(operation=C.DETACH, name="bin"), Invalid),
    "detach unknown": (C(operation=C.DETACH, name="bni"), Unknown),
    "detach from": (C(operation=C.DETACH, name="bin", attach_to="tool0"), Invalid),
    "hide nothing": (C(operation=C.HIDE), Invalid),
    "hide a link": (C(operation=C.HIDE, name="tool0"), Unknown),
    "show a frame": (C(operation=C.SHOW, name="place"), Unknown),
    "hide with joints": (
        C(operation=C.HIDE, name="bin", configuration=Configuration(joint_names=["elbow_joint"], positions=[0.0])),
        Invalid,
    ),
    "touch unknown": (C(operation=C.SET_TOUCH, name="bin", touch_bodies=["wokpiece"]), Unknown),
    "touch of a frame": (C(operation=C.SET_TOUCH, name="place", touch_bodies=["bin"]), Unknown),
    "joint unknown": (set_joints(["elbow"], [0.0]), Unknown),
    "joint of a tool unknown": (set_joints(["gripper/elbow_joint"], [0.0]), Unknown),
    "joint infinite": (set_joints(["elbow_joint"], [INF]), Invalid),
    "joint twice": (set_joints(["elbow_joint", "elbow_joint"], [0.0, 0.0]), Invalid),
    "joint without value": (set_joints(["elbow_joint"], []), Invalid),
    "value without joint": (set_joints([], [1.0]), Invalid),
    "base of another": (C(operation=C.SET_BASE_POSE, name="leg", pose=pose()), Unknown),
    "base on its hand": (C(operation=C.SET_BASE_POSE, name="arm", pose=pose(), relative_to="tool0"), Invalid),
    "base at infinity": (C(operation=C.SET_BASE_POSE, name="arm", pose=pose(z=-INF)), Invalid),
    "group of nothing": (collision([IgnoreGroup(name="none", members=[])]), Unknown),
    "group of unknown": (collision([IgnoreGroup(name="some", members=["bin", "bni"])]), Unknown),
    "group member twice": (collision([IgnoreGroup(name="some", members=["bin", "bin"])]), Invalid),
    "margin of unknown": (collision(margins=[SafetyMargin(name="bni", margin=0.1)]), Unknown),
    "negative margin": (collision(margins=[SafetyMargin(name="bin", margin=-0.1)]), Invalid),
    "infinite margin": (collision(margins=[SafetyMargin(name="bin", margin=INF)]), Invalid),
    "huge margin": (collision(margins=[SafetyMargin(name="bin", other="workpiece", margin=11.0)]), Invalid),
    "state of unknown body": (states(bodies=[BodyState(name="bni")]), Unknown),
    "state of unknown tool": (states(tools=[ToolState(name="hand")]), Unknown),
    "state twice": (states(bodies=[BodyState(name="bin"), BodyState(name="bin")]), Invalid),
    "state of unknown base": (states(base_poses=[NamedPose(name="leg")]), Unknown),
    "state of unknown joint": (
        states(configuration=Configuration(joint_names=["elbow"], positions=[0.0])),
        Unknown,
    ),
    "state with NaN": (states(configuration=Configuration(joint_names=["elbow_joint"], positions=[NAN])), Invalid),
    "state in a loop": (states(bodies=[BodyState(name="bin", attached_to="place")]), FrameCycleError),
    "state of a tool on no group": (states(tools=[ToolState(name="gripper", attached_to="nothing")]), Unknown),
    "body without name": (adding(bodies=[BodyModel(collision=ONE)]), Invalid),
    "body with a long name": (adding(bodies=[BodyModel(name="x" * 256, collision=ONE)]), Invalid),
    "body with a line in its name": (adding(bodies=[BodyModel(name="a\nb", collision=ONE)]), Invalid),
    "body named world": (adding(bodies=[BodyModel(name="world", collision=ONE)]), Invalid),
    "body twice": (adding(bodies=[BodyModel(name="new", collision=ONE)] * 2), Invalid),
    "body that is there": (adding(bodies=[BodyModel(name="bin", collision=ONE)]), Twice),
    "body named like a link": (adding(bodies=[BodyModel(name="tool0", collision=ONE)]), Twice),
    "body named like a tool link": (adding(bodies=[BodyModel(name="gripper/tcp", collision=ONE)]), Twice),
    "body without shape": (adding(bodies=[BodyModel(name="new")]), Invalid),
    "body of NaN density": (adding(bodies=[BodyModel(name="new", collision=ONE, density=NAN)]), Invalid),
    "body of negative density": (adding(bodies=[BodyModel(name="new", collision=ONE, density=-1.0)]), Invalid),
    "two inertials": (
        adding(bodies=[BodyModel(name="new", collision=ONE, inertial=[Inertial(mass=1.0)] * 2)]),
        Invalid,
    ),
    "negative mass": (with_inertial(mass=-1.0), Invalid),
    "infinite mass": (with_inertial(mass=INF), Invalid),
    "negative moment": (with_inertial(mass=1.0, inertia=[1.0, 0.0, 0.0, 1.0, 0.0, -1.0]), Invalid),
    "inertial without rotation": (with_inertial(mass=1.0, pose=pose(quaternion=(0.0,) * 4)), Invalid),
    "box of two sides": (shaped(box(1.0, 1.0)), Invalid),
    "box of no size": (shaped(box(0.0, 1.0, 1.0)), Invalid),
    "negative box": (shaped(box(1.0, -1.0, 1.0)), Invalid),
    "box of NaN": (shaped(box(1.0, NAN, 1.0)), Invalid),
    "box in millimetres": (shaped(box(1.0, 20_000.0, 1.0)), Invalid),
    "sphere of two radii": (shaped(G(type=G.SPHERE, dimensions=[1.0, 1.0])), Invalid),
    "cylinder without length": (shaped(G(type=G.CYLINDER, dimensions=[1.0])), Invalid),
    "negative capsule": (shaped(G(type=G.CAPSULE, dimensions=[-1.0, 1.0])), Invalid),
    "infinite cone": (shaped(G(type=G.CONE, dimensions=[1.0, INF])), Invalid),
    "unknown geometry": (shaped(G(type=77)), Invalid),
    "unknown use of a mesh": (shaped(G(type=G.MESH, mesh_use=9, mesh_uri="x.stl")), Invalid),
    "shape without rotation": (shaped(box(1.0, 1.0, 1.0), pose=pose(quaternion=(0.0,) * 4)), Invalid),
    "shape at NaN": (shaped(box(1.0, 1.0, 1.0), pose=pose(y=NAN)), Invalid),
    "mesh of nothing": (shaped(G(type=G.MESH)), Invalid),
    "mesh with two corners": (triangles(CORNERS[:2], [(0, 1, 1)]), Invalid),
    "mesh with a wrong index": (triangles(CORNERS, [(0, 1, 9)]), Invalid),
    "mesh at infinity": (triangles([*CORNERS[:3], (INF, 0.0, 0.0)], [(0, 1, 2)]), Invalid),
    "flat mesh": (triangles(CORNERS[:3], [(0, 1, 2)]), GeometryError),
    "mesh of a missing file": (shaped(G(type=G.MESH, mesh_uri="none.stl")), ResourceError),
    "mesh out of the roots": (shaped(G(type=G.MESH, mesh_uri="file:///etc/passwd")), ResourceError),
    "mesh of a missing package": (shaped(G(type=G.MESH, mesh_uri="package://none/a.stl")), ResourceError),
    "mesh of no scale": (
        shaped(G(type=G.MESH, mesh_uri="none.stl", mesh_scale=Vector3(x=NAN, y=1.0, z=1.0))),
        ResourceError,
    ),
    "place of another": (placed(bodies=[BodyState(name="other")]), Unknown),
    "place at NaN": (placed(bodies=[BodyState(name="new", pose=pose(x=NAN))]), Invalid),
    "place on unknown": (placed(bodies=[BodyState(name="new", attached_to="nobody")]), Unknown),
    "place on itself": (placed(bodies=[BodyState(name="new", attached_to="new")]), FrameCycleError),
    "place twice": (placed(bodies=[BodyState(name="new")] * 2), Invalid),
    "touches twice": (placed(bodies=[BodyState(name="new", touch_links=["tool0", "tool0"])]), Invalid),
    "frame on unknown": (adding(frames=[NamedFrame(name="here", attached_to="bni")]), Unknown),
    "frame relative to unknown": (adding(frames=[NamedFrame(name="here", relative_to="bni")]), Unknown),
    "frame of no rotation": (adding(frames=[NamedFrame(name="here", pose=pose(quaternion=(0.0,) * 4))]), Invalid),
    "frame that is there": (adding(frames=[NamedFrame(name="place")]), Twice),
    "replace what is not there": (C(operation=C.REPLACE, models=placed().models), Unknown),
    "robot of nothing": (adding(robots=[RobotModel(name="other")]), ResourceError),
    "robot of no XML": (robot("hello"), FileError),
    "robot of another document": (robot("<sdf/>"), FileError),
    "robot of two trees": (robot('<robot name="r"><link name="p"/><link name="q"/></robot>'), ModelError),
    "robot of an entity": (robot('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>'), FileError),
    "robot with links that are there": (robot('<robot name="r"><link name="tool0"/></robot>'), Twice),
    "robot with a missing SRDF": (robot(LINK, srdf=ModelFile(uri="none.srdf")), Invalid),
    "robot with a bad SRDF": (robot(LINK, srdf=ModelFile(text="<robot>")), FileError),
    "robot with bad limits": (robot(LINK, limits=ModelFile(text="joint_limits: 3")), FileError),
    "robot out of the roots": (
        adding(robots=[RobotModel(name="other", urdf=ModelFile(uri="/etc/passwd"))]),
        ResourceError,
    ),
    "robot that is there": (
        adding(robots=[RobotModel(name="arm", urdf=ModelFile(text=LINK))]),
        Twice,
    ),
    "tool with URDF and shapes": (tool(urdf=ModelFile(text=LINK), collision=ONE), Invalid),
    "tool with an unknown tip": (tool(urdf=ModelFile(text=LINK), tcp_link="tip"), ModelError),
    "tool at NaN": (tool(collision=ONE, tcp=pose(x=NAN)), Invalid),
    "tool with two inertials": (tool(collision=ONE, inertial=[Inertial(mass=1.0)] * 2), Invalid),
    "second tool on the flange": (
        C(
            operation=C.ADD,
            models=tool(collision=ONE).models,
            states=states(tools=[ToolState(name="new_tool", attached_to="manipulator")]).states,
        ),
        StateError,
    ),
}
REQUESTS = {
    "no changes": (srv.ApplyChanges, "scene/apply_changes", srv.ApplyChanges.Request(), Invalid),
    "too many changes": (
        srv.ApplyChanges,
        "scene/apply_changes",
        srv.ApplyChanges.Request(changes=[C(operation=C.HIDE, name="bin")] * 51),
        LimitExceededError,
    ),
    "another revision": (
        srv.ApplyChanges,
        "scene/apply_changes",
        srv.ApplyChanges.Request(changes=[C(operation=C.HIDE, name="bin")], expected_revision=2**63),
        RevisionConflictError,
    ),
    "too many shapes": (
        srv.ApplyChanges,
        "scene/apply_changes",
        srv.ApplyChanges.Request(changes=[adding(bodies=[BodyModel(name="new", collision=ONE * 41)])]),
        LimitExceededError,
    ),
    "too many bodies": (
        srv.ApplyChanges,
        "scene/apply_changes",
        srv.ApplyChanges.Request(
            changes=[adding(bodies=[BodyModel(name=f"new{i}", collision=ONE) for i in range(31)])]
        ),
        LimitExceededError,
    ),
    "mode 7": (srv.LoadCell, "scene/load_cell", srv.LoadCell.Request(mode=7), Invalid),
    "cell with a body twice": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(cell=adding(bodies=[BodyModel(name="new", collision=ONE)] * 2).models),
        Invalid,
    ),
    "loading for another revision": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(cell=placed().models, expected_revision=77),
        RevisionConflictError,
    ),
    "merging what is there": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(cell=adding(bodies=[BodyModel(name="bin", collision=ONE)]).models, mode=1),
        Twice,
    ),
    "merging into an unknown frame": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(cell=placed().models, mode=1, relative_to="bni"),
        TransformLookupError,
    ),
    "merging without rotation": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(cell=placed().models, mode=1, pose=pose(quaternion=(0.0,) * 4)),
        Invalid,
    ),
    "odd prefix": (
        srv.LoadCell,
        "scene/load_cell",
        srv.LoadCell.Request(uri="cells/cell.yaml", mode=1, prefix="a;\n", dry_run=True),
        Invalid,
    ),
    "state of nowhere": (srv.LoadState, "scene/load_state", srv.LoadState.Request(uri="none.yaml"), ResourceError),
    "state of no state": (srv.LoadState, "scene/load_state", srv.LoadState.Request(uri="bytes.yaml"), FileError),
    "state of a cell": (srv.LoadState, "scene/load_state", srv.LoadState.Request(uri="cells/cell.yaml"), FileError),
    "state out of the roots": (
        srv.LoadState,
        "scene/load_state",
        srv.LoadState.Request(uri="../../state.yaml"),
        ResourceError,
    ),
    "content 9": (srv.SaveCell, "scene/save_cell", srv.SaveCell.Request(content=9), Invalid),
    "saving out of the roots": (
        srv.SaveCell,
        "scene/save_cell",
        srv.SaveCell.Request(uri="/etc/cell.yaml", overwrite=True),
        ResourceError,
    ),
    "saving over a file": (srv.SaveCell, "scene/save_cell", srv.SaveCell.Request(uri="cells/cell.yaml"), FileError),
    "saving as text": (srv.SaveCell, "scene/save_cell", srv.SaveCell.Request(uri="cells/cell.txt"), FileError),
    "following by nothing": (srv.FollowFrame, "scene/follow_frame", following("bni"), Unknown),
    "following an unknown frame": (srv.FollowFrame, "scene/follow_frame", following("bin"), TransformLookupError),
    "following the world": (srv.FollowFrame, "scene/follow_frame", following("bin", frame="world"), Invalid),
    "following a frame of the cell": (srv.FollowFrame, "scene/follow_frame", following("bin", frame="table"), Invalid),
    "following at no pose": (srv.FollowFrame, "scene/follow_frame", following("bin", x=math.nan), Invalid),
    "undoing too much": (srv.UndoChanges, "scene/undo", srv.UndoChanges.Request(steps=2**32 - 1), Invalid),
    "undoing at another revision": (
        srv.UndoChanges,
        "scene/undo",
        srv.UndoChanges.Request(expected_revision=99),
        RevisionConflictError,
    ),
    "waiting for no joint": (
        srv.WaitForState,
        "scene/wait_for_state",
        srv.WaitForState.Request(joint_names=["elbow"]),
        Unknown,
    ),
}
