"""Stamps of contacts: made once for each begin and end, whatever happens to the clock later."""

from robot_cell_planner.simulation.contacts import ContactRecord, ContactStamps


def record(first, begin, end):
    return ContactRecord(first, "table", begin, end, 1, 0.0, 0.0)


def test_stamps_are_those_of_the_clock_when_they_were_made():
    shift = [100.0]
    stamps = ContactStamps(lambda time: time + shift[0])
    assert stamps.of([record("a", 1.0, 2.0), record("b", 1.5, 1.5)]) == [(101.0, 102.0), (101.5, 101.5)]
    shift[0] = 200.0  # a pause of 100 s after 2 s
    assert stamps.of([record("a", 1.0, 3.0), record("b", 1.5, 1.5)]) == [(101.0, 203.0), (101.5, 101.5)]
    shift[0] = 300.0
    assert stamps.of([record("a", 1.0, 3.0), record("c", 3.5, 4.0)]) == [(101.0, 203.0), (303.5, 304.0)]


def test_a_contact_after_a_return_to_the_start_has_a_stamp_of_its_own():
    shift = [100.0]
    stamps = ContactStamps(lambda time: time + shift[0])
    assert stamps.of([record("a", 1.0, 2.0)]) == [(101.0, 102.0)]
    assert stamps.of([]) == []
    shift[0] = 200.0
    assert stamps.of([record("a", 1.0, 2.0)]) == [(201.0, 202.0)]
