"""Full collections of garbage happen when a delay does not matter, not while many objects are made."""

import gc

import pytest

from robot_cell_planner.system import garbage

POINTS, OBJECTS = 100_000, 6  # of the message of a trajectory: lists of numbers and a time for each point


@pytest.fixture
def full_collections():
    found, thresholds = [], gc.get_threshold()

    def note(phase, info):
        if phase == "start" and info["generation"] == 2:
            found.append(info)

    gc.collect()
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.set_threshold(*thresholds)


def many():
    return [[[] for _ in range(OBJECTS)] for _ in range(POINTS)]


def test_the_objects_of_a_long_trajectory_cause_no_full_collection(full_collections):
    garbage.postpone_full_collections()
    made = many()
    assert len(made) == POINTS
    assert not full_collections


def test_garbage_is_collected_once_when_a_delay_does_not_matter(full_collections):
    garbage.postpone_full_collections()
    garbage.collect_if_due()
    assert not full_collections
    made = many()
    made.append(made)  # freed by a collection only
    del made
    for _ in range(3):
        garbage.collect_if_due()
    assert len(full_collections) == 1
    assert gc.get_count()[2] == 0


def test_young_garbage_is_collected_meanwhile(full_collections):
    class Cycle:
        existing = 0

        def __init__(self):
            Cycle.existing += 1
            self.own = self

        def __del__(self):
            Cycle.existing -= 1

    garbage.postpone_full_collections()
    for _ in range(20_000):
        Cycle()
    assert Cycle.existing < 2_000
    assert not full_collections
