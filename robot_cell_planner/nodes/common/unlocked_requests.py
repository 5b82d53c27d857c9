"""Requests with long trajectories that are taken from the middleware, or sent, while other threads run.

rclpy holds the interpreter while the middleware reads or writes a request, and while a request is converted: 0.1 to
0.3 s for a trajectory of 100,000 points, in which no thread of the process sends a command. The same functions of rcl,
called by ctypes, release it. Their signatures are those of rcl_action/action_server.h, rcl/client.h and rmw/types.h.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from rclpy.client import Client
from rclpy.task import Future

from .large_trajectories import CREATION, DESTRUCTION, FILLING, function_of, is_laid_out, with_points_in_memory

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
GID_SIZE = 16  # [bytes]
OK = 0  # RCL_RET_OK


class RequestId(ctypes.Structure):
    """rmw_request_id_t: which request a response belongs to."""

    _fields_ = (("writer_guid", ctypes.c_uint8 * GID_SIZE), ("sequence_number", ctypes.c_int64))


@cache
def _library(name: str) -> ctypes.CDLL | None:
    """Return a library that this process has loaded; None if it has not, or where that is unknown."""
    try:
        path = re.search(rf"/\S*/lib{name}\.so\S*", Path("/proc/self/maps").read_text(encoding="utf-8"))
    except OSError:
        return None
    return None if path is None else ctypes.CDLL(path.group())


def _call(library: str, name: str, handle: Any, *arguments: Any) -> bool:
    """Call a function of a library without the interpreter; returns whether it succeeded."""
    functions, errors = _library(library), _library("rcutils")
    assert functions is not None
    assert errors is not None
    with handle:
        code = getattr(functions, name)(ctypes.c_void_p(handle.pointer), *arguments)
    if code != OK:
        errors.rcutils_reset_error()
    return bool(code == OK)


def is_available() -> bool:
    """Return whether the functions were found."""
    return all(_library(name) is not None for name in ("rcl", "rcl_action", "rcutils"))


def take_goal_request(handle: Any, kind: Any) -> tuple[RequestId, int] | None:
    """Return the header and the address of the next request of an action server, to be passed to
    `large_trajectories.taken`; None if there is none.

    Args:
        handle: Handle of the server in rclpy.
        kind: Type of its requests.
    """
    header, address = RequestId(), CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))()
    if _call("rcl_action", "rcl_action_take_goal_request", handle, ctypes.byref(header), ctypes.c_void_p(address)):
        return header, address
    DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))(address)
    return None


def send_goal_response(handle: Any, header: RequestId, response: Any) -> None:
    """Send the response to a request that `take_goal_request` returned.

    Raises:
        RuntimeError: It could not be sent.
    """
    kind = type(response)
    destroy = DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))
    address = CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))()
    try:
        arguments = ctypes.byref(header), ctypes.c_void_p(address)
        FILLING(function_of(kind, "_CONVERT_FROM_PY"))(response, address)
        if not _call("rcl_action", "rcl_action_send_goal_response", handle, *arguments):
            raise RuntimeError("the response to a goal was not sent")
    finally:
        destroy(address)


@cache
def _has_arrays(kind: Hashable) -> bool:
    """Return whether requests of a type can contain trajectories whose points are in arrays."""
    return is_available() and is_laid_out(kind)


def call_async(client: Client[RequestT, ResponseT], request: RequestT) -> Future[ResponseT]:
    """Send a request of a service as rclpy does; other threads run while one is sent whose points are `PointBlocks`.

    Raises:
        RuntimeError: It could not be sent.
    """
    kind: Any = type(request)
    if not _has_arrays(kind):
        return client.call_async(request)
    number, future = ctypes.c_int64(), Future[ResponseT]()
    with with_points_in_memory(request) as address:
        if address is None:
            return client.call_async(request)
        with client._lock:  # rclpy has no public way to register a request that it did not send
            arguments = ctypes.c_void_p(address), ctypes.byref(number)
            if not _call("rcl", "rcl_send_request", client.handle, *arguments):
                raise RuntimeError(f"the request of {client.srv_name} was not sent")
            client._pending_requests[number.value] = future
            future.add_done_callback(client.remove_pending_request)
    return future
