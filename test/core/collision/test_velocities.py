"""The sphere test by velocities: what it proves on straight motions is compared with positions all along them."""

import numpy as np
import pytest
from collision_cells import (
    at,
    body,
    busy_cell,
    make_cell,
    place,
    sphere,
    working_cell,
)
from frozendict import frozendict

from robot_cell_planner.collision.certification._kernels.arrays import (
    LANES,
    LISTED,
    MAX_CANDIDATES,
    Packed,
    work_space,
)
from robot_cell_planner.collision.certification._kernels.certificate import begin, evaluate
from robot_cell_planner.collision.certification._kernels.hits import HIT, UNCERTAIN
from robot_cell_planner.collision.certification._kernels.listed_candidates import evaluate_listed, retain_marked
from robot_cell_planner.collision.certification._kernels.velocities import set_box, set_interval
from robot_cell_planner.collision.certification.scene import MotionScene
from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.kinematics.forward import forward_batch
from robot_cell_planner.model.mechanism import Joint, JointKind, JointLimits, Link, Mechanism, Mimic
from robot_cell_planner.model.robot import DisabledPair, PlanningGroup, Robot

AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
ALONG = np.linspace(-1.0, 1.0, 101)
RADIUS = 0.06
ROUNDING = 1e-5  # [m]


def two_arms(with_walls):
    """A torso that turns and slides, with two arms of four joints, of which one drives two, and spheres around.

    With walls, only these are checked; without, only the links of the arms against each other.
    """
    links = {name: Link(name) for name in ("base", "column", "torso")}
    limits = JointLimits(-0.3, 0.3)
    joints = {
        "turn": Joint("turn", JointKind.REVOLUTE, "base", "column", at(0.0), AXES[0], JointLimits(-3.0, 3.0)),
        "lift": Joint("lift", JointKind.PRISMATIC, "column", "torso", at(0.0), AXES[0], limits),
    }
    names = ["turn", "lift"]
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "torso"
        for number in range(4):
            link, joint = f"{side}_{number}", f"{side}_joint_{number}"
            links[link] = Link(link, collisions=(sphere(RADIUS, at(0.15, 0.02)),))
            kind = JointKind.PRISMATIC if (side, number) == ("left", 2) else JointKind.REVOLUTE
            origin = at(0.0, y) if number == 0 else at(0.22, 0.01 * number, 0.02)
            mimic = Mimic("right_joint_1", -0.8) if (side, number) == ("right", 3) else None
            reach = limits if kind is JointKind.PRISMATIC else JointLimits(-3.0, 3.0)
            joints[joint] = Joint(joint, kind, parent, link, origin, AXES[(number + 1) % 3], reach, mimic)
            if mimic is None:
                names.append(joint)
            parent = link
    movers = [name for name, link in links.items() if link.collisions]
    disabled = [(a, b) for i, a in enumerate(movers) for b in movers[i + 1 :] if with_walls]
    group = PlanningGroup("g", tuple(names), base_link="base", tip_link="right_3")
    robot = Robot(
        "r",
        Mechanism("m", frozendict(links), frozendict(joints)),
        frozendict({"g": group}),
        disabled_pairs=tuple(DisabledPair(a, b, "not of interest") for a, b in disabled),
    )
    rng = np.random.default_rng(6)
    poses = [at(*rng.uniform(-1.1, 1.1, 3)) for _ in range(24 if with_walls else 0)]
    walls = [body(f"wall{index}", sphere(0.05)) for index in range(len(poses))]
    cell = make_cell((robot,), (), walls)
    state = cell.default_state()
    for wall, pose in zip(walls, poses, strict=True):
        state = place(state, wall.name, pose)
    return CollisionChecker(cell, state, tuple(names)), np.array([pose.position for pose in poses]).reshape(-1, 3)


def chain(joints, spheres, wall=None):
    """A checker of a robot of joints (name, kind, parent, child, position of the origin, axis) about z or along y, with
    spheres {link: position} and maybe one as obstacle."""
    links = {"base": Link("base")}
    made = {}
    for name, kind, parent, child, origin, axis in joints:
        limits = JointLimits(-3.0, 3.0) if kind is JointKind.REVOLUTE else JointLimits(-SLIDE, SLIDE)
        made[name] = Joint(name, kind, parent, child, at(*origin), axis, limits)
        shapes = (sphere(RADIUS, at(*spheres[child])),) if child in spheres else ()
        links[child] = Link(child, collisions=shapes)
    group = PlanningGroup("g", tuple(made), base_link="base", tip_link=joints[-1][3])
    robot = Robot("r", Mechanism("m", frozendict(links), frozendict(made)), frozendict({"g": group}))
    cell = make_cell((robot,), (), (body("wall", sphere(RADIUS)),))
    state = place(cell.default_state(), "wall", at(0.0, 0.0, 9.0) if wall is None else at(wall))
    return CollisionChecker(cell, state, tuple(made))


def is_proven(checker, direction):
    """Whether an interval around zero is proven by one evaluation."""
    made = MotionScene(checker).arrays()
    work = work_space(made, len(checker.variables))
    packed, space = Packed(made), Packed(work)
    set_interval(packed.address, space.address, np.zeros(len(direction)), np.array(direction), 1.0)
    begin(packed.address, space.address)
    evaluate(packed.address, space.address, False)
    return not int(work.bits[UNCERTAIN])


TURN, SLIDING = JointKind.REVOLUTE, JointKind.PRISMATIC
Z, DOWN = (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
ARM, BACK, SLIDE = 0.8, 0.4, 0.3  # [m]
E = 0.2  # [rad], displacement of the joints
# In each of these chains the velocities of two joints cancel at the middle, so that only their change is left.
TWO_TURNS = [("j1", TURN, "base", "a", (0.0, 0.0), Z), ("j2", TURN, "a", "b", (ARM, 0.0), Z)]
TURN_AND_SLIDE = [("j1", TURN, "base", "a", (0.0, 0.0), Z), ("j2", SLIDING, "a", "b", (ARM, 0.0), DOWN)]
SLIDE_AND_TURN = [("j1", SLIDING, "base", "a", (0.0, 0.0), DOWN), ("j2", TURN, "a", "b", (0.0, 0.0), Z)]


class TestThresholds:
    """An interval is proven if and only if the gap exceeds the bound by the formula, to within a hundredth."""

    @pytest.mark.parametrize(
        ("joints", "tip", "x", "direction", "need"),
        [
            (TWO_TURNS, (-BACK, 0.0), ARM - BACK, (E, E), E * E * ((ARM + BACK) / 2.0 + 1.5 * BACK)),
            (TURN_AND_SLIDE, (0.0, 0.0), ARM, (E, E * ARM), E * E * (np.hypot(ARM, SLIDE) / 2.0 + ARM)),
            (SLIDE_AND_TURN, (ARM, 0.0), ARM, (E * ARM, E), E * E * ARM / 2.0),
        ],
    )
    def test_of_obstacles(self, joints, tip, x, direction, need):
        for factor in (1.01, 0.99):
            checker = chain(joints, {"b": tip}, x + 2.0 * RADIUS + need * factor)
            assert is_proven(checker, direction) is (factor > 1.0)

    @pytest.mark.parametrize("column", [0.0, 0.4])
    def test_of_pairs_on_two_branches(self, column):
        """A joint that moves both arms does not count."""
        need = 2.0 * E * E * ((ARM + BACK) / 2.0 + 1.5 * BACK)
        for factor in (1.01, 0.99):
            apart = 2.0 * (ARM - BACK) + 2.0 * RADIUS + need * factor
            arms = [("column", TURN, "base", "middle", (0.3, 0.2), Z)]
            for side, sign, origin in (("left", 1.0, 0.0), ("right", -1.0, apart)):
                arms.append((f"{side} 1", TURN, "middle", f"{side} a", (origin, 0.0), Z))
                arms.append((f"{side} 2", TURN, f"{side} a", f"{side} b", (sign * ARM, 0.0), Z))
            checker = chain(arms, {"left b": (-BACK, 0.0), "right b": (BACK, 0.0)})
            assert is_proven(checker, (column, E, E, E, E)) is (factor > 1.0)

    @pytest.mark.parametrize("column", [0.0, 0.4])
    def test_of_pairs_that_approach_each_other(self, column):
        """Two spheres beside each other on slides: by the law of the squared distance, without a change of velocity."""
        for factor in (1.001, 0.999):
            # d^2 - 2 d (speed of approach) against the square of both radii.
            speed, contact = 0.1, 2.0 * RADIUS
            apart = (speed + np.hypot(speed, contact)) * factor
            joints = [
                ("lift", SLIDING, "base", "middle", (0.0, 0.0), DOWN),
                ("left", SLIDING, "middle", "a", (0.0, 0.0), DOWN),
                ("right", SLIDING, "middle", "b", (0.0, -apart), DOWN),
            ]
            checker = chain(joints, {"a": (0.0, 0.0), "b": (0.0, 0.0)})
            # By displacements alone they would have to be farther apart than the contact distance plus twice the speed.
            assert apart < contact + 2.0 * speed
            assert is_proven(checker, (column, 1.5 * speed, 0.5 * speed)) is (factor > 1.0)


def smallest_gap(checker, scene, walls, configurations):
    """The smallest gap [m] of any checked pair at configurations (n, dof)."""
    cell, state = checker.cell, checker.state
    centres = []
    for index in scene.moving_objects:
        poses = forward_batch(cell, state, scene.allowed_pairs.objects[index].name, checker.variables, configurations)
        centres.append(poses[:, :3, :3] @ np.array([0.15, 0.02, 0.0]) + poses[:, :3, 3])
    gaps = [np.inf]
    for pair in scene.pairs:
        gaps.append(np.linalg.norm(centres[pair.first] - centres[pair.second], axis=1).min() - 2.0 * RADIUS)
    if len(walls):
        for points in centres:
            gaps.append(np.linalg.norm(points[:, None] - walls, axis=2).min() - RADIUS - 0.05)
    return min(gaps)


@pytest.mark.parametrize("with_walls", [True, False])
@pytest.mark.parametrize("size", [0.06, 0.15])
def test_intervals_that_velocities_prove_are_free_all_along(with_walls, size):
    """Also of joints on both sides of a branch, joints that mimic others, and slides; and more are proven than by
    displacements alone, some of them close to contact."""
    checker, walls = two_arms(with_walls)
    scene = MotionScene(checker)
    assert bool(scene.pairs) is not with_walls
    made = scene.arrays()
    work = work_space(made, len(checker.variables))
    packed, space = Packed(made).address, Packed(work)
    rng = np.random.default_rng(3)
    slides = np.array([name in ("lift", "left_joint_2") for name in checker.variables])
    proven, gained, closest = 0, 0, np.inf
    for _ in range(60 if with_walls else 150):
        middles = rng.uniform(-1.0, 1.0, (LANES, len(checker.variables))) * np.where(slides, 0.05, 2.0)
        direction = np.clip(rng.normal(size=len(slides)) * size, *np.where(slides, [[-0.2], [0.2]], [[-9.0], [9.0]]))
        work.q[:] = middles.T
        verdicts = []
        for straight in (True, False):
            set_interval(packed, space.address, np.zeros(len(direction)), direction, 1.0)
            if not straight:
                set_box(space.address)
            work.bits[LISTED] = 0
            begin(packed, space.address)
            evaluate(packed, space.address, False)
            verdicts.append(int(work.bits[UNCERTAIN]))
        assert verdicts[0] & ~verdicts[1] == 0
        for lane in range(LANES):
            if verdicts[0] >> lane & 1:
                continue
            gap = smallest_gap(checker, scene, walls, middles[lane] + ALONG[:, None] * direction)
            assert gap > -ROUNDING
            proven += 1
            if verdicts[1] >> lane & 1:
                gained += 1
                closest = min(closest, gap)
    assert proven > 50
    assert gained > 20
    assert closest < 0.3 * size


def test_motion_bounds_hold_for_the_centres_of_all_levels():
    """Roots, clusters and leaves of objects, and the spheres around all objects of a joint."""
    cell, state = working_cell()
    checker = CollisionChecker(cell, state)
    scene = MotionScene(checker)
    made = scene.arrays()
    rng = np.random.default_rng(1)
    base = rng.uniform(-3.0, 3.0, (60, len(checker.variables)))
    count, joints = len(made.spheres), len(scene.tree.joints)
    joint_of = np.full(count, -1)
    objects = [scene.placements[index].joint for index in scene.moving_objects]
    for obj, joint in enumerate(objects):
        joint_of[obj] = joint
        for cluster in range(*made.children[obj]):
            joint_of[cluster] = joint
            joint_of[made.children[cluster, 0] : made.children[cluster, 1]] = joint
    joint_of[count - joints :] = range(joints)
    compared = 0
    for number, index in enumerate(scene.moving_objects):
        chosen = np.flatnonzero(joint_of == objects[number])
        pose = np.linalg.inv(scene.placements[index].placement)
        local = made.spheres[chosen, :3].astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
        for joint in range(joints):
            step = np.zeros(len(checker.variables))
            step[scene.tree.joints[joint].variable] = 1e-6
            name = scene.allowed_pairs.objects[index].name
            poses = [forward_batch(cell, state, name, checker.variables, base + side * step) for side in (-1.0, 1.0)]
            points = [local @ np.swapaxes(p[:, :3, :3], 1, 2) + p[:, None, :3, 3] for p in poses]
            speeds = np.linalg.norm(points[1] - points[0], axis=2).max(axis=0) / 2e-6
            assert (speeds <= made.motion_bounds[chosen, joint] * (1.0 + 1e-6) + 1e-7).all()
            compared += len(chosen)
    assert compared > count


@pytest.fixture(scope="module")
def busy():
    return busy_cell()


def test_listed_candidates_suffice_for_parts_of_a_straight_interval(busy):
    """In both halves of an interval around its middle, repeatedly, the list finds what a full check does."""
    checker = CollisionChecker(*busy)
    made = MotionScene(checker).arrays()
    work = work_space(made, len(checker.variables))
    scene, space = Packed(made).address, Packed(work).address
    rng = np.random.default_rng(8)
    compared, uncertain_lanes = 0, set()
    origin = np.zeros(len(checker.variables))
    for _ in range(150):
        middle = rng.uniform(-2.5, 2.5, len(origin))
        direction = rng.normal(size=len(origin)) * 0.08
        halves = []
        half, centres = 1.0, np.zeros(LANES)
        work.bits[LISTED] = 0
        for level in range(4):
            work.q[:] = middle[:, None] + centres * direction[:, None]
            set_interval(scene, space, origin, direction, half)
            if level:
                begin(scene, space)
                evaluate_listed(scene, space)
                retain_marked(space)
            else:
                begin(scene, space)
                evaluate(scene, space, False)
                if work.bits[LISTED] > MAX_CANDIDATES:
                    break
            found, kept = (int(work.bits[UNCERTAIN]), int(work.bits[HIT])), work.candidates.copy()
            listed = int(work.bits[LISTED])
            work.bits[LISTED] = 0
            begin(scene, space)
            evaluate(scene, space, False)
            if level and work.bits[LISTED] <= MAX_CANDIDATES:
                assert (int(work.bits[UNCERTAIN]), int(work.bits[HIT])) == found
                compared += 1
                uncertain_lanes.add(found)
            work.candidates[:], work.bits[LISTED] = kept, listed
            half *= 0.5
            centres = centres + half * np.where(np.arange(LANES) >> level & 1, 1.0, -1.0)
            halves.append(half)
    assert compared > 100
    assert len(uncertain_lanes) > 20
