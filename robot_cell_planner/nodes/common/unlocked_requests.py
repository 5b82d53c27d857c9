"""Requests with long trajectories that are taken from the middleware, or sent, while other threads run.

rclpy holds the interpreter while the middleware reads or writes a request, and while a request is converted: 0.1 to
0.3 s for a trajectory of 100,000 points, in which no thread of the process sends a command. The same functions of rcl,
called by ctypes, release it. Their signatures are those of rcl_action/action_server.h, rcl/client.h and rmw/types.h.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from rclpy.client import Client
from rclpy.task import Future

from .large_trajectories import CREATION, DESTRUCTION, fill, function_of, is_laid_out, with_points_in_memory

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
MAPS = Path("/proc/self/maps")
OK = 0  # RCL_RET_OK
FUNCTIONS = {
    "rcl": ("rcl_send_request",),
    "rcl_action": ("rcl_action_take_goal_request", "rcl_action_send_goal_response"),
    "rcutils": ("rcutils_reset_error",),
}


class RequestId(ctypes.Structure):
    """rmw_request_id_t: which request a response belongs to. It has 24 bytes, and room for longer identifiers of
    writers, which earlier releases had."""

    _fields_ = (("content", ctypes.c_uint64 * 8),)


@cache
def _library(name: str) -> ctypes.CDLL | None:
    """Return a library that this process has loaded, and rclpy uses; None if there is none or more than one, if it
    lacks a function, or where that is unknown.

    A library is never loaded here: another file than the one that rclpy has loaded, such as that of an update, would
    not know its handles.
    """
    try:
        lines = MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        fields = [line.split(maxsplit=5) for line in lines]
        paths = {of[5] for of in fields if len(of) == 6 and re.search(rf"/lib{name}\.so[.\d]*$", of[5])}
        if len(paths) != 1:
            return None
        library = ctypes.CDLL(paths.pop(), mode=os.RTLD_NOLOAD)
    except OSError:
        return None
    return library if all(hasattr(library, function) for function in FUNCTIONS[name]) else None


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
    return all(_library(name) is not None for name in FUNCTIONS)


def take_goal_request(handle: Any, kind: Any) -> tuple[RequestId, int] | None:
    """Return the header and the address of the next request of an action server, to be passed to
    `large_trajectories.taken`; None if there is none.

    Args:
        handle: Handle of the server in rclpy.
        kind: Type of its requests.

    Raises:
        InvalidHandle: The server was destroyed.
    """
    header, address = RequestId(), CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))()
    is_taken = False
    try:
        arguments = ctypes.byref(header), ctypes.c_void_p(address)
        is_taken = _call("rcl_action", "rcl_action_take_goal_request", handle, *arguments)
    finally:
        if not is_taken:
            DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))(address)
    return (header, address) if is_taken else None


def send_goal_response(handle: Any, header: RequestId, response: Any) -> None:
    """Send the response to a request that `take_goal_request` returned.

    Raises:
        RuntimeError: It could not be sent.
        InvalidHandle: The server was destroyed.
    """
    kind = type(response)
    destroy = DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))
    address = CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))()
    try:
        arguments = ctypes.byref(header), ctypes.c_void_p(address)
        fill(response, address)
        if not _call("rcl_action", "rcl_action_send_goal_response", handle, *arguments):
            raise RuntimeError("the response to a goal was not sent")
    finally:
        destroy(address)


@cache
def _has_arrays(kind: Hashable) -> bool:
    """Return whether requests of a type can contain trajectories whose points are in arrays."""
    return is_available() and is_laid_out(kind)


def has_pointer(handle: Any) -> bool:
    """Return whether a handle of rclpy tells where its object of rcl is."""
    return isinstance(getattr(handle, "pointer", None), int)


def _is_known(client: Client[Any, Any]) -> bool:
    """Return whether rclpy registers requests of a client as in the releases that this module was written for."""
    return all(hasattr(client, name) for name in ("_lock", "_pending_requests")) and has_pointer(client.handle)


def call_async(client: Client[RequestT, ResponseT], request: RequestT) -> Future[ResponseT]:
    """Send a request of a service as rclpy does; other threads run while one is sent whose points are `PointBlocks`.

    Raises:
        RuntimeError: It could not be sent.
        InvalidHandle: The client was destroyed.
        TypeError: The request is one of another service, or has a field of another type.
    """
    kind: Any = type(request)
    if kind is not client.srv_type.Request or not _has_arrays(kind) or not _is_known(client):
        return client.call_async(request)
    number = ctypes.c_int64()
    future: Future[ResponseT] = Future()
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
