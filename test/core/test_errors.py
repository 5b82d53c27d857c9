"""Errors that outlive their request, and changed copies of errors."""

import gc
import weakref

from robot_cell_planner.errors import InternalError, InvalidRequestError, NotConnectedError, Value, drop_tracebacks


class Large:
    """Something that a request uses."""


def _fail(used):
    large = Large()
    used.append(weakref.ref(large))
    try:
        raise KeyError("first")
    except KeyError as error:
        failure = InvalidRequestError("second")
        failure.__cause__ = error
    raise InternalError("third") from failure


def test_an_error_without_tracebacks_references_no_object_of_its_request():
    used = []
    gc.disable()
    try:
        try:
            _fail(used)
        except InternalError as error:
            assert used[0]() is not None
            drop_tracebacks(error)
            kept = error
        assert used[0]() is None
        assert str(kept.__cause__.__cause__) == "'first'"
    finally:
        gc.enable()


def test_cyclic_chains_of_errors_are_handled():
    first, second = InvalidRequestError("first"), InvalidRequestError("second")
    first.__cause__, second.__cause__ = second, first
    drop_tracebacks(first)


def test_a_changed_error_keeps_what_is_not_given():
    values = (Value("distance", 0.5, 0.1, "m"),)
    error = NotConnectedError("none", stage="search", subjects=("a",), values=values, partial=1, remedy="Move it.")
    found = error.changed("step 1: none", subjects=("step", "a"), partial=None)
    assert type(found) is NotConnectedError
    assert (found.message, found.args, found.subjects) == ("step 1: none", ("step 1: none",), ("step", "a"))
    assert (found.stage, found.values, found.partial, found.remedy) == ("search", values, None, "Move it.")
    assert error.changed("none", values=()).partial == 1
    assert (error.message, error.subjects, error.values) == ("none", ("a",), values)
