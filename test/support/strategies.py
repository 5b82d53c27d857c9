"""Random values of the cell, for property tests."""

import math

from frozendict import frozendict
from hypothesis import strategies as st

from robot_cell_planner.model.bodies import NamedFrame, RigidBody
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere, Triangles
from robot_cell_planner.model.mechanism import Inertial, Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.mesh_use import REPRESENTATIONS
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState, ToolState
from robot_cell_planner.model.value import MAX_JOINT_VALUE

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e3, 1e3)
joint_values = st.floats(-MAX_JOINT_VALUE, MAX_JOINT_VALUE)
sizes = st.floats(1e-6, 1e3)
names = st.text("abcXYZ0189_-./ ", min_size=1, max_size=8).filter(lambda n: n[0].isalnum() and n != "world")
vectors = st.tuples(moderate, moderate, moderate)


@st.composite
def quaternions(draw):
    parts = [draw(st.floats(-1.0, 1.0)) for _ in range(4)]
    norm = math.sqrt(sum(part * part for part in parts))
    return (0.0, 0.0, 0.0, 1.0) if norm < 0.1 else tuple(part / norm for part in parts)


poses = st.builds(Pose, vectors, quaternions())
uses = st.sampled_from(REPRESENTATIONS)
triangles = st.builds(
    Triangles,
    st.tuples(vectors, vectors, vectors, vectors),
    st.lists(st.permutations(range(4)).map(lambda order: tuple(order[:3])), min_size=1, max_size=3).map(tuple),
    uses,
)
meshes = st.builds(
    Mesh,
    st.sampled_from(["part.stl", "package://a/b c.dae", "file:///x.obj"]),
    st.just("/x/part.stl"),
    st.text("0123456789abcdef", min_size=64, max_size=64),
    st.tuples(*[sizes.map(lambda v: -v) | sizes] * 3),
    uses,
)
geometries = st.one_of(
    st.builds(Box, st.tuples(sizes, sizes, sizes)),
    st.builds(Sphere, sizes),
    st.builds(Cylinder, sizes, sizes),
    st.builds(Capsule, sizes, sizes),
    st.builds(Cone, sizes, sizes),
    triangles,
    meshes,
)
colours = st.none() | st.tuples(*[st.floats(0.0, 1.0)] * 4)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
shapes = st.builds(Shape, geometries, poses, texts, colours, texts, texts)
shape_tuples = st.lists(shapes, max_size=2).map(tuple)


@st.composite
def inertias(draw):
    """L L^T of a lower triangle L, which has no negative principal moment."""
    a, b, c, d, e, f = (draw(st.floats(-30.0, 30.0)) for _ in range(6))
    return (a * a, a * b, a * d, b * b + c * c, b * d + c * e, d * d + e * e + f * f)


inertials = st.builds(Inertial, st.floats(0.0, 1e6), poses, inertias())
bodies = st.builds(
    RigidBody, names, st.lists(shapes, min_size=1, max_size=2).map(tuple), shape_tuples, st.none() | inertials
)
frames = st.builds(NamedFrame, names, names | st.just("world"), poses)


def dictionaries(keys, values, max_size=3):
    return st.dictionaries(keys, values, max_size=max_size).map(frozendict)


name_tuples = st.lists(names, max_size=3, unique=True).map(tuple)
tool_states = st.builds(
    ToolState, poses, names | st.just(""), dictionaries(names, joint_values), name_tuples, name_tuples, st.booleans()
)
body_states = st.builds(BodyState, poses, names | st.just(""), name_tuples, name_tuples, st.booleans())
states = st.builds(
    RobotCellState,
    dictionaries(names, poses),
    dictionaries(names, joint_values),
    dictionaries(names, tool_states),
    dictionaries(names, body_states),
)


@st.composite
def limits(draw):
    lower, upper = sorted((draw(moderate), draw(moderate)))
    optional = st.none() | sizes
    return JointLimits(
        draw(st.sampled_from([lower, -math.inf])),
        draw(st.sampled_from([upper, math.inf])),
        *(draw(optional) for _ in range(4)),
        draw(st.sampled_from([(), ("jerk",)])),
    )


AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.0, 0.8)]


@st.composite
def mechanisms(draw):
    """Random trees of up to seven links."""
    count = draw(st.integers(1, 7))
    links = {f"link {i}": Link(f"link {i}", (), draw(shape_tuples), draw(st.none() | inertials)) for i in range(count)}
    joints = {}
    for i in range(1, count):
        kind = draw(st.sampled_from(JointKind))
        singles = [n for n, j in joints.items() if j.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)]
        mimic = None
        if singles and kind in (JointKind.REVOLUTE, JointKind.PRISMATIC) and draw(st.booleans()):
            mimic = Mimic(draw(st.sampled_from(singles)), draw(moderate), draw(moderate))
        joints[f"joint {i}"] = Joint(
            f"joint {i}",
            kind,
            f"link {draw(st.integers(0, i - 1))}",
            f"link {i}",
            draw(poses),
            draw(st.sampled_from(AXES)),
            draw(limits()),
            mimic,
        )
    return Mechanism("mechanism", frozendict(links), frozendict(joints))
