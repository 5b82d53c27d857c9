"""Reports of a simulation: bodies that do not move are sent once, and are the same objects in each report."""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from robot_cell_planner.model.pose import Pose
from robot_cell_planner.simulation.process import Report

heights = st.sampled_from((0.0, 0.1, 0.2))
bodies = st.dictionaries(st.sampled_from("abcd"), st.builds(lambda z: Pose((0.0, 0.0, z)), heights))


def report(poses):
    return Report(0.0, poses, ())


@settings(max_examples=200, deadline=None)
@given(st.lists(bodies, min_size=1, max_size=8))
def test_every_report_arrives_whole(sequence):
    reported, arrived = {}, {}
    for poses in sequence:
        sent = pickle.loads(pickle.dumps(report(poses).changes_since(reported)))
        whole = sent.completed(arrived)
        assert whole == report(poses)
        assert list(whole.bodies) == list(poses) or poses.keys() == reported.keys()
        for name in poses.keys() & arrived.keys() if poses.keys() == reported.keys() else ():
            assert (whole.bodies[name] is arrived[name]) == (poses[name] == reported[name])
        reported, arrived = poses, whole.bodies


def test_bodies_that_do_not_move_are_not_sent():
    poses = {f"body{i}": Pose((0.1 * i, 0.0, 0.0)) for i in range(1000)}
    moved = {**poses, "body7": Pose((0.0, 0.0, 1.0))}
    assert report(moved).changes_since(poses).bodies == {"body7": moved["body7"]}
    assert len(pickle.dumps(report(poses).changes_since(dict(poses)))) < 1000
