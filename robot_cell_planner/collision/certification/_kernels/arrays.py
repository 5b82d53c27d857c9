"""The arrays in which compiled kernels find a cell: joints, trees of balls, pairs, obstacles, and work space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Whole = NDArray[np.int64]

LANES = 16  # configurations that are looked at at once
UNBOUNDED = 1e15  # stands for a bound that does not exist; its square is still finite in single precision
RECENT = 4  # hits that are remembered
MOST_NEAR = 512  # pairs of balls, and balls and obstacles, that are listed as too near
NEVER = -1.0  # a margin: these two are not checked

BOX, CYLINDER, CAPSULE, CONE, SURFACE, CONVEX = 0, 1, 2, 3, 4, 5  # kinds of obstacles


class MotionArrays(NamedTuple):
    """A cell for the kernels. Coordinates are those of the world less an origin near the robot, in single precision.

    joints: (j, 3) parent (-1: world), 1 for a slide, variable. frames: (j, 12) rotation by rows, then translation,
    from the parent to the joint, whose axis is z. drives: (j, 2) multiplier and offset from variable to joint.

    balls: (n, 4) centres in the frame of their joint, and radii: first one for each moving owner, which holds all of
    it; then clusters; then leaves. children: (n, 2) first and end of what a ball holds. carriers: (o,) joint of each
    owner. cores: (n,) of a cluster the largest leaf that it holds. reach: (n, w) bounds on how fast a joint moves the
    centres below a ball [m per rad or m]; w is j, filled up with zeros to a multiple of LANES.

    pairs: (p, 2) owners. pair_margins: (p,). sides: (2 p, w) for each pair a row with 1 where a joint moves the first
    owner alone, and one where the second.

    obstacles: (k, 5) kind, row of margins, first node of a mesh, first and end of its planes. shapes: (k, 20) local
    frame (12), sizes (3), bounding ball (4), allowance for rounding [m], which for a capsule holds its radius as well:
    what is kept is the segment in it. margins: (rows, o) of obstacle and owner. nodes: (m, 4) balls around triangles;
    links: (m, 3) left child, right child (-1: a leaf), triangle. triangles: (t, 33) corners, edges, inner normals of
    the edges, normal, inverse squares of the edges. planes: (q, 4), of each convex mesh first some that look in all
    directions.

    rounding: (1,) allowance between balls [m].
    """

    joints: Whole
    frames: Single
    drives: Double
    balls: Single
    children: Whole
    carriers: Whole
    cores: Whole
    reach: Single
    pairs: Whole
    pair_margins: Single
    sides: Single
    obstacles: Whole
    shapes: Single
    margins: Single
    nodes: Single
    links: Whole
    triangles: Single
    planes: Single
    rounding: Single


class WorkSpace(NamedTuple):
    """What the kernels write while they work; one for each thread.

    q: (variables, LANES) configurations. poses: (12 j, LANES) of the joints, as in `frames`. places: (3 n, LANES)
    centres of balls, `placed` (n,) by which look they are known. speeds: (w,) displacements of the joints. bits: (4,)
    lanes that are uncertain, and hit, the number of the look, and how many are listed as too near. near: (o + 2, k)
    lists of obstacles near each owner, and near a cluster and a leaf of it; `nearby` (o,) how many are near an owner.
    stack: (256,) nodes of a mesh. hits: (RECENT, 4) what was hit last, the latest first: 1 for an obstacle, 2 for a
    pair, 0 for nothing; the number of the owner or of the pair; the ball and the obstacle, or both balls. along: (1,
    LANES) places along a motion. parting: (n,) the plane of a convex mesh beyond which a ball was last. depths: (1,
    LANES) for `slopes`. too_near: (MOST_NEAR, 5) what may be hit on the stretches that are not clear, as in `hits`, and
    whether it still may.
    """

    q: Double
    poses: Single
    places: Single
    placed: Whole
    speeds: Single
    bits: Whole
    near: Whole
    nearby: Whole
    stack: Whole
    hits: Whole
    along: Double
    parting: Whole
    depths: Single
    too_near: Whole


def work_space(arrays: MotionArrays, variables: int) -> WorkSpace:
    """Work space for some arrays."""
    joints, balls, obstacles = len(arrays.joints), len(arrays.balls), len(arrays.obstacles)
    owners = len(arrays.carriers)
    return WorkSpace(
        np.zeros((variables, LANES)),
        np.zeros((12 * joints, LANES), dtype=np.float32),
        np.zeros((3 * balls, LANES), dtype=np.float32),
        np.zeros(balls, dtype=np.int64),
        np.zeros(max(arrays.reach.shape[1], LANES), dtype=np.float32),
        np.zeros(4, dtype=np.int64),
        np.zeros((owners + 2, max(obstacles, 1)), dtype=np.int64),
        np.zeros(owners, dtype=np.int64),
        np.zeros(256, dtype=np.int64),
        np.zeros((RECENT, 4), dtype=np.int64),
        np.zeros((1, LANES)),
        np.full(balls, -1, dtype=np.int64),
        np.zeros((1, LANES), dtype=np.float32),
        np.zeros((MOST_NEAR, 5), dtype=np.int64),
    )


class Packed:
    """Arrays as compiled kernels take them: the address of a table of their addresses and numbers of rows.

    A kernel that is handed many arrays spends most of its time on counting references to them. What is packed stays
    alive and in place as long as this does.
    """

    def __init__(self, arrays: MotionArrays | WorkSpace) -> None:
        self.arrays = tuple(np.ascontiguousarray(array) for array in arrays)
        rows = [(array.ctypes.data, len(array)) for array in self.arrays]
        self._table = np.array(rows, dtype=np.int64)
        self.address = int(self._table.ctypes.data)


# Numbers of the arrays in their tables.
(JOINTS, FRAMES, DRIVES, BALLS, CHILDREN, CARRIERS, CORES, REACH, PAIRS, PAIR_MARGINS, SIDES, OBSTACLES, SHAPES,
 MARGINS, NODES, LINKS, TRIANGLES, PLANES, ROUNDING) = range(19)  # fmt: skip
Q, POSES, PLACES, PLACED, SPEEDS, BITS, NEAR, NEARBY, STACK, HITS, ALONG, PARTING, DEPTHS, TOO_NEAR = range(14)
UNCERTAIN, HIT, LOOK, LISTED = 0, 1, 2, 3  # places in the bits of the work space
