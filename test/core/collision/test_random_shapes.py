"""Random shapes of all kinds, sizes and margins: all checks agree with each other and with the smallest distance."""

import numpy as np
from collision_cells import body, bracket, free_body, make_cell, place
from collision_cells import settings as rules
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.engines.base import TOUCHING, distance_error
from robot_cell_planner.model.geometry import Box, Capsule, Cone, Cylinder, Shape, Sphere
from robot_cell_planner.model.mesh_use import REPRESENTATIONS
from robot_cell_planner.model.pose import Pose

sizes, large = st.floats(0.02, 0.3), st.floats(6.0, 300.0)
turns = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
positions = st.tuples(st.floats(0.0, 0.8), st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
geometries = st.one_of(
    st.builds(Box, st.tuples(sizes, sizes, sizes)),
    st.builds(Box, st.tuples(st.just(0.1), large, large)),
    st.builds(Sphere, sizes),
    st.builds(Cylinder, sizes, sizes),
    st.builds(Cylinder, large, st.just(0.2)),
    st.builds(Capsule, sizes, sizes),
    st.builds(Cone, sizes, sizes),
    st.builds(bracket, st.sampled_from((0.1, 0.25)), st.sampled_from(REPRESENTATIONS)),
)
shapes = st.lists(st.builds(Shape, geometries, st.builds(Pose.from_rpy, positions, turns)), min_size=1, max_size=2)
bodies = st.lists(st.tuples(shapes, positions, turns), min_size=1, max_size=6)
margins = st.dictionaries(st.sampled_from(["moving", "*", "body0", "body1"]), st.floats(0.0, 0.1), max_size=2)


def checker_of(moving, obstacles, distances):
    made = [body(f"body{index}", *each) for index, (each, _, _) in enumerate(obstacles)]
    distances = {name: value for name, value in distances.items() if name[:4] != "body" or int(name[4:]) < len(made)}
    cell = make_cell((free_body("moving", *moving),), (), made, rules(margins=distances))
    state = cell.default_state()
    for index, (_, position, turn) in enumerate(obstacles):
        state = place(state, f"body{index}", Pose.from_rpy(position, turn))
    return CollisionChecker(cell, state)


def threshold(checker, low, high):
    """Two values within 1e-7 m of each other, of which one collides."""
    collides = checker.in_collision(np.array([low]))
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        if checker.in_collision(np.array([middle])) == collides:
            low = middle
        else:
            high = middle
    return low, high


@settings(max_examples=120)
@given(shapes, bodies, margins, st.lists(st.floats(-1.5, 1.5), min_size=2, max_size=6))
def test_all_checks_agree(moving, obstacles, distances, values):
    checker = checker_of(moving, obstacles, distances)
    verdicts = checker.in_collision_batch(np.array(values)[:, None]).tolist()
    for low, high, first, second in zip(values, values[1:], verdicts, verdicts[1:], strict=False):
        if first != second:
            values = [*values, *threshold(checker, *sorted((low, high)))]
            break
    verdicts = checker.in_collision_batch(np.array(values)[:, None]).tolist()
    for value, collides in zip(values, verdicts, strict=True):
        q = np.array([value])
        report, pair = checker.report(q), checker.first_pair(q)
        assert checker.in_collision(q) == report.in_collision == collides == (pair is not None)
        assert pair is None or pair == report.pairs[0] or pair.distance <= report.pairs[0].distance + 1e-9
        slack = min((each.slack for each in checker.clearances(q, 100)), default=np.inf)
        if abs(slack + TOUCHING) > 2.0 * distance_error(0.2):
            assert collides == (slack < -TOUCHING)
