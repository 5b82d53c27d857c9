"""Arrays of the compiled kernels: joints, sphere trees, pairs, obstacles, and work space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Integers = NDArray[np.int64]

LANES = 16  # number of configurations evaluated at once
UNBOUNDED = 1e15  # represents a missing bound; its square is still finite in single precision
RECENT = 32  # number of hits that are remembered
FEW_CANDIDATES = 48  # up to which all are listed; of more, only those that make further lanes undecided are searched
MAX_CANDIDATES = 512  # maximum number of listed candidates (two spheres, or a sphere and an obstacle) not proven free
MAX_OPEN = 512  # maximum number of pending intervals of a motion
NEVER = -1.0  # margin of pairs that are not checked
# Indices into the counters (3,) of a check: configurations evaluated, and the middle and half length of an interval
# that is not free, as fractions of the motion.
EVALUATED, UNDECIDED_MIDDLE, UNDECIDED_HALF = 0, 1, 2

BOX, CYLINDER, CAPSULE, CONE, SURFACE, CONVEX = 0, 1, 2, 3, 4, 5  # kinds of obstacles


class MotionArrays(NamedTuple):
    """A cell as the kernels read it, in single precision and world coordinates relative to an origin near the robot.

    Here j is the number of joints, n of spheres, o of moving objects, p of pairs of these, and k of obstacles; w is j
    rounded up to a multiple of LANES, padded with zeros.

    Attributes:
        joints: (j, 3) parent (-1: world), 1 for a prismatic joint, variable.
        frames: (j, 12) rotation by rows, then translation, from the parent to the joint, whose axis is z.
        couplings: (j, 2) multiplier and offset from variable to joint value.
        spheres: (n, 4) centres of spheres in the frame of their joint, and radii: first one bounding sphere for each
            moving object, then clusters, then leaves, then one bounding sphere for the objects of each joint.
        children: (n, 2) first and end index of the spheres that a sphere contains.
        parent_joints: (o,) joint that each moving object is fixed to.
        cores: (n,) largest leaf of each cluster.
        motion_bounds: (n, w) maximum displacement of the centre of a sphere and of those below it per unit of each
            joint, in m per rad or m.
        pairs: (p, 3) both moving objects, and the last joint that moves both (-1: none).
        pair_margins: (p,) margins [m].
        pair_groups: (g, 4) pairs whose objects are fixed to the same two joints and that have the same margin: the
            bounding spheres of both joints, first and end index of the pairs.
        sides: (2 p, w) two rows for each pair: 1 for joints that move only the first object, and only the second.
        obstacles: (k, 5) kind, row of margins, first node of a mesh, first and end of its planes.
        shapes: (k, 20) local frame (12), sizes (3), bounding sphere (4), allowance for rounding [m]. The allowance of a
            capsule includes its radius, since the obstacle is its axis segment.
        margins: (rows, o) margin of obstacle and moving object [m].
        widest_margins: (o,) maximum margin of each moving object; NEVER if it is checked against no obstacle [m].
        boxes: (6 b, LANES) tree of axis-aligned boxes around the obstacles, see `obstacle_boxes`.
        box_children: (b,) first box set below each set; -1 - i for obstacles from i on.
        nodes: (m, 4) bounding spheres of triangles.
        links: (m, 3) left child, right child (-1: a leaf), triangle.
        triangles: (t, 33) corners, edges, inner normals of the edges, normal, inverse squares of the edges.
        planes: (q, 4) for each convex mesh, beginning with planes in widely different directions.
        rounding: (1,) allowance between spheres [m].
        map_joints: (d, 3) inner and outer joint of each distance map, see `distance_maps`, and bits of the number of
            its cells along the inner joint. Its pair is not checked by spheres.
        map_margins: (d,) distances that their pairs have to exceed [m].
        map_bounds: (d, SIZE) their lower bounds of the distance [m].
    """

    joints: Integers
    frames: Single
    couplings: Double
    spheres: Single
    children: Integers
    parent_joints: Integers
    cores: Integers
    motion_bounds: Single
    pairs: Integers
    pair_margins: Single
    pair_groups: Integers
    sides: Single
    obstacles: Integers
    shapes: Single
    margins: Single
    widest_margins: Single
    boxes: Single
    box_children: Integers
    nodes: Single
    links: Integers
    triangles: Single
    planes: Single
    rounding: Single
    map_joints: Integers
    map_margins: Single
    map_bounds: Single


class WorkSpace(NamedTuple):
    """Work space of the kernels, one per thread.

    Attributes:
        q: (variables, LANES) configurations.
        poses: (12 j, LANES) poses of the joints, in the layout of `MotionArrays.frames`.
        centres: (3 n, LANES) centres of spheres.
        placed: (n,) number of the evaluation that computed each centre.
        displacements: (w,) displacements of the joints.
        directions: (w,) displacements with their signs, along a straight motion.
        change_weights: (w,) weights of the joints in the bound of second order, see `velocities`.
        turns: (w,) sum of the displacements of a joint and of those before it, of revolute joints only [rad].
        slack: (1,) allowance for rounding of the bounds of second order [m]; UNBOUNDED without a straight motion.
        twists: (6 j, LANES) twists of the joints: angular velocity, and velocity at the origin.
        velocities: (3 n, LANES) velocities of the centres of spheres.
        moved: (n,) number of the evaluation that computed each velocity.
        bits: (7,) lanes that are undecided, lanes that are hit, number of the evaluation, number of listed candidates,
            lanes in which the last sphere was near an obstacle, number of the evaluation that computed the twists, and
            1 where the listed candidates are not used.
        near: (o + 2, k) obstacles near each moving object, near a cluster, and near a leaf.
        nearby: (o,) number of obstacles near each moving object.
        stack: (256,) nodes of a mesh, or sets of boxes.
        hits: (RECENT, 4) recent hits, latest first: 1 for an obstacle, 2 for a pair, 3 for a distance map, 0 for none;
            index of the object, pair or map; sphere and obstacle, or both spheres.
        along: (1, LANES) path parameters of a motion.
        separating: (n,) plane of a convex mesh that last separated a sphere from it.
        depths: (1, LANES) squared distances of the spheres of the last hit, or bounds of a distance map.
        candidates: (MAX_CANDIDATES, 5) candidates that may be hit in the intervals that are not proven free, as in
            `hits`, and a mark for those that remain.
        widths: (n,) widths of spheres in the pair that is checked, see `certificate.width`.
        pending: (2, MAX_OPEN) middles of the intervals of a motion that are not proven free yet, by parity of level.
    """

    q: Double
    poses: Single
    centres: Single
    placed: Integers
    displacements: Single
    directions: Single
    change_weights: Single
    turns: Single
    slack: Single
    twists: Single
    velocities: Single
    moved: Integers
    bits: Integers
    near: Integers
    nearby: Integers
    stack: Integers
    hits: Integers
    along: Double
    separating: Integers
    depths: Single
    candidates: Integers
    widths: Single
    pending: Double


def work_space(arrays: MotionArrays, variables: int) -> WorkSpace:
    """Allocate the work space for arrays."""
    joints, spheres, obstacles = len(arrays.joints), len(arrays.spheres), len(arrays.obstacles)
    objects = len(arrays.parent_joints)
    width = max(arrays.motion_bounds.shape[1], LANES)
    displacements, directions, change_weights, turns = np.zeros((4, width), dtype=np.float32)
    return WorkSpace(
        np.zeros((variables, LANES)),
        np.zeros((12 * joints, LANES), dtype=np.float32),
        np.zeros((3 * spheres, LANES), dtype=np.float32),
        np.zeros(spheres, dtype=np.int64),
        displacements,
        directions,
        change_weights,
        turns,
        np.full(1, UNBOUNDED, dtype=np.float32),
        np.zeros((6 * joints, LANES), dtype=np.float32),
        np.zeros((3 * spheres, LANES), dtype=np.float32),
        np.zeros(spheres, dtype=np.int64),
        np.zeros(7, dtype=np.int64),
        np.zeros((objects + 2, max(obstacles, 1)), dtype=np.int64),
        np.zeros(objects, dtype=np.int64),
        np.zeros(256, dtype=np.int64),
        np.zeros((RECENT, 4), dtype=np.int64),
        np.zeros((1, LANES)),
        np.full(spheres, -1, dtype=np.int64),
        np.zeros((1, LANES), dtype=np.float32),
        np.zeros((MAX_CANDIDATES, 5), dtype=np.int64),
        np.zeros(spheres, dtype=np.float32),
        np.zeros((2, MAX_OPEN)),
    )


class Packed:
    """Arrays in the form that compiled kernels take: the address of a table of addresses and row counts.

    A kernel with many array arguments spends most of its time on reference counting. The arrays stay alive and in place
    as long as this object.
    """

    def __init__(self, arrays: MotionArrays | WorkSpace) -> None:
        self.arrays = tuple(np.ascontiguousarray(array) for array in arrays)
        rows = [(array.ctypes.data, len(array)) for array in self.arrays]
        self._table = np.array(rows, dtype=np.int64)
        self.address = int(self._table.ctypes.data)


# Indices of the arrays in the table of packed `MotionArrays`.
JOINTS = MotionArrays._fields.index("joints")
FRAMES = MotionArrays._fields.index("frames")
COUPLINGS = MotionArrays._fields.index("couplings")
SPHERES = MotionArrays._fields.index("spheres")
CHILDREN = MotionArrays._fields.index("children")
PARENT_JOINTS = MotionArrays._fields.index("parent_joints")
CORES = MotionArrays._fields.index("cores")
MOTION_BOUNDS = MotionArrays._fields.index("motion_bounds")
PAIRS = MotionArrays._fields.index("pairs")
PAIR_MARGINS = MotionArrays._fields.index("pair_margins")
PAIR_GROUPS = MotionArrays._fields.index("pair_groups")
SIDES = MotionArrays._fields.index("sides")
OBSTACLES = MotionArrays._fields.index("obstacles")
SHAPES = MotionArrays._fields.index("shapes")
MARGINS = MotionArrays._fields.index("margins")
WIDEST_MARGINS = MotionArrays._fields.index("widest_margins")
BOXES = MotionArrays._fields.index("boxes")
BOX_CHILDREN = MotionArrays._fields.index("box_children")
NODES = MotionArrays._fields.index("nodes")
LINKS = MotionArrays._fields.index("links")
TRIANGLES = MotionArrays._fields.index("triangles")
PLANES = MotionArrays._fields.index("planes")
ROUNDING = MotionArrays._fields.index("rounding")
MAP_JOINTS = MotionArrays._fields.index("map_joints")
MAP_MARGINS = MotionArrays._fields.index("map_margins")
MAP_BOUNDS = MotionArrays._fields.index("map_bounds")

# Indices of the arrays in the table of a packed `WorkSpace`.
Q = WorkSpace._fields.index("q")
POSES = WorkSpace._fields.index("poses")
CENTRES = WorkSpace._fields.index("centres")
PLACED = WorkSpace._fields.index("placed")
DISPLACEMENTS = WorkSpace._fields.index("displacements")
DIRECTIONS = WorkSpace._fields.index("directions")
CHANGE_WEIGHTS = WorkSpace._fields.index("change_weights")
TURNS = WorkSpace._fields.index("turns")
SLACK = WorkSpace._fields.index("slack")
TWISTS = WorkSpace._fields.index("twists")
VELOCITIES = WorkSpace._fields.index("velocities")
MOVED = WorkSpace._fields.index("moved")
BITS = WorkSpace._fields.index("bits")
NEAR = WorkSpace._fields.index("near")
NEARBY = WorkSpace._fields.index("nearby")
STACK = WorkSpace._fields.index("stack")
HITS = WorkSpace._fields.index("hits")
ALONG = WorkSpace._fields.index("along")
SEPARATING = WorkSpace._fields.index("separating")
DEPTHS = WorkSpace._fields.index("depths")
CANDIDATES = WorkSpace._fields.index("candidates")
WIDTHS = WorkSpace._fields.index("widths")
PENDING = WorkSpace._fields.index("pending")

# Indices in the bits of the work space.
UNCERTAIN, HIT, EVALUATION, LISTED, NEAR_LANES, TWISTED, UNLISTED = 0, 1, 2, 3, 4, 5, 6
