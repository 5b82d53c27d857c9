"""Errors that outlive their request."""

import gc
import weakref

from robot_cell_planner.errors import InternalError, InvalidRequestError, drop_tracebacks


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
