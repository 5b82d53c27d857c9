"""Requests and goals with trajectories, of which long ones are read as arrays from the message of the middleware.

rclpy takes a request in C and converts it to Python objects. A type of `in_memory` leaves that out: rclpy then returns
the address of the message, of which `taken` reads the points of long trajectories as arrays; rclpy's conversion reads
all other fields. The memory layout is that of the generated C structures (rosidl_generator_c), of which every field has
the alignment of its C type; it is compared with an example before it is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.type_support import check_for_type_support
from rosidl_parser.definition import AbstractGenericString, AbstractSequence, Array, BasicType, NamespacedType
from trajectory_msgs.msg import JointTrajectoryPoint

from ...trajectory.trajectory import MAX_SAMPLES
from ..conversions.point_blocks import KINDS, Block, PointBlocks, points_of

MAX_READ = MAX_SAMPLES  # points; of more, only the number is read
PART = 5_000  # points whose numbers are copied at once
MIN_POINTS = 500  # fewer are converted by rclpy, in a few milliseconds
WORD = 8  # [bytes] of a pointer, a size and a double
LIST = 3 * WORD  # [bytes] of a list or text: pointer, size, capacity
SIZES = {"boolean": 1, "octet": 1, "char": 1, "wchar": 2, "float": 4, "double": 8, "long double": 16} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
POINT = np.dtype(
    [(kind, [("data", "<u8"), ("size", "<u8"), ("capacity", "<u8")]) for kind in KINDS]
    + [("sec", "<i4"), ("nanosec", "<u4")]
)


@dataclass(frozen=True)
class _Layout:
    """Size and alignment of a C structure [bytes], and where the lists of points in it are, by path of attributes."""

    size: int
    alignment: int
    points: tuple[tuple[tuple[str, ...], int], ...]


@cache
def _layout(kind: Any) -> _Layout:
    """Return the layout of a message type."""
    at, alignment, points = 0, 1, []
    for slot, declared in zip(kind.__slots__, kind.SLOT_TYPES, strict=False):  # the slots may contain one more
        field = _field(declared)
        at += -at % field.alignment
        if points_of(kind) and slot == "_points":
            points.append(((), at))
        points += [((slot.lstrip("_"), *path), at + place) for path, place in field.points]
        at, alignment = at + field.size, max(alignment, field.alignment)
    return _Layout(max(at + -at % alignment, 1), alignment, tuple(points))


def _field(declared: Any) -> _Layout:
    if isinstance(declared, Array):
        element = _field(declared.value_type)
        return _Layout(element.size * declared.size, element.alignment, ())
    if isinstance(declared, AbstractSequence | AbstractGenericString):
        return _Layout(LIST, WORD, ())
    if isinstance(declared, NamespacedType):
        return _layout(_class_of(declared))
    assert isinstance(declared, BasicType)
    size = SIZES[declared.typename]
    return _Layout(size, size, ())


def _class_of(declared: NamespacedType) -> Any:
    """Return the class of a message, or of the goal of an action."""
    module = import_module(".".join(declared.namespaces))
    if hasattr(module, declared.name):
        return getattr(module, declared.name)
    name, _, part = declared.name.rpartition("_")
    return getattr(getattr(module, name), part)


_python = ctypes.pythonapi
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_GetPointer", _python))
_name_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetName", _python))
_capsule_of = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python)
)
CONVERSION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)
FILLING = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
CREATION = ctypes.CFUNCTYPE(ctypes.c_void_p)
DESTRUCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def function_of(kind: Any, name: str) -> int:
    """Return the address of a C function of a message type."""
    capsule = getattr(type(kind), name)
    return int(_pointer_of(capsule, _name_of(capsule)))


def fill(message: Any, address: int | None) -> None:
    """Convert a message to the C structure at an address, which was created empty.

    Raises:
        TypeError: It could not be created or converted.
    """
    kind: Any = type(message)
    if not address or not FILLING(function_of(kind, "_CONVERT_FROM_PY"))(message, address):
        raise TypeError(f"a message of type {kind.__name__} could not be converted")


def _capsule(function: Any) -> Any:
    """Return a function of the interpreter as rclpy expects functions of a message type."""
    return _capsule_of(ctypes.cast(function, ctypes.c_void_p), None, None)


def in_memory(kind: Any) -> Any:
    """Return a type of which rclpy takes messages of a type as their address, to be passed to `taken`; the same type if
    it contains no trajectory, or has another layout in memory than expected."""
    if not is_laid_out(kind):
        return kind
    functions = {
        "_CREATE_ROS_MESSAGE": getattr(type(kind), "_CREATE_ROS_MESSAGE"),  # noqa: B009  (not declared)
        "_CONVERT_TO_PY": _capsule(_python.PyLong_FromVoidPtr),
        "_DESTROY_ROS_MESSAGE": _capsule(_python.Py_IsInitialized),  # does nothing
    }
    return type("InMemoryType", (type,), functions)("InMemory", (), {})


def is_laid_out(kind: Any) -> bool:
    """Return whether a type contains trajectories, whose points are where they are expected in a message."""
    if not _layout(kind).points:
        return False
    check_for_type_support(kind)
    message, paths = kind(), [path for path, _ in _layout(kind).points]
    for number, path in enumerate(paths, 1):
        _set_points(message, path, [_example(number), _example(number + 1), _example(number + 2)])
    create = CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))
    destroy = DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))
    address = create()
    try:
        if not FILLING(function_of(kind, "_CONVERT_FROM_PY"))(message, address):
            return False
        for number, (_, place) in enumerate(_layout(kind).points, 1):
            data, count, capacity = (
                ctypes.c_size_t.from_address(address + place + offset).value for offset in (0, WORD, 2 * WORD)
            )
            expected = [_example(number), _example(number + 1), _example(number + 2)]
            if (count, capacity) != (3, 3) or list(read_points(data, count)) != expected:
                return False
    finally:
        destroy(address)
    return True


def _example(number: int) -> JointTrajectoryPoint:
    """Return a point with other numbers for each number."""
    rows = {kind: [number + 0.25 * place] * (place + 1) for place, kind in enumerate(KINDS)}
    return JointTrajectoryPoint(**rows, time_from_start=Duration(sec=-number, nanosec=number))


def _set_points(message: Any, path: tuple[str, ...], points: Any) -> None:
    for name in path:
        message = getattr(message, name)
    message._points = points  # its setter would check each point


def service_in_memory(kind: Any) -> Any:
    """Return a type of services with requests of `in_memory`."""
    request = in_memory(kind.Request)
    if request is kind.Request:
        return kind
    return SimpleNamespace(Request=request, Response=kind.Response, Event=kind.Event)


def taken(kind: Any, message: Any) -> Any:
    """Return a message of a type that rclpy took with the type of `in_memory`. Its memory is released."""
    if not isinstance(message, int):
        return message
    destroy = DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))
    try:
        return _converted(kind, message)
    finally:
        destroy(message)


def _converted(kind: Any, address: int) -> Any:
    convert = CONVERSION(function_of(kind, "_CONVERT_TO_PY"))
    found = list(_blocks(kind, address))
    with ExitStack() as restored:
        for (_, place), (_, blocks) in zip(_layout(kind).points, found, strict=True):
            if blocks is None:
                continue
            size = ctypes.c_size_t.from_address(address + place + WORD)
            restored.callback(setattr, size, "value", size.value)
            size.value = 0  # of the list that rclpy converts
        message = convert(address)
    for path, blocks in found:
        if blocks is not None:
            _set_points(message, path, blocks)
    return message


def _blocks(kind: Any, address: int) -> Iterator[tuple[tuple[str, ...], PointBlocks | None]]:
    """Return the points of each trajectory in a message, None for those of a short one."""
    for path, place in _layout(kind).points:
        data, count = (ctypes.c_size_t.from_address(address + place + offset).value for offset in (0, WORD))
        yield path, read_points(data, count) if count >= MIN_POINTS else None


@contextmanager
def with_points_in_memory(message: Any) -> Iterator[int | None]:
    """Provide the address of a message of a type with `is_laid_out`, for functions that read it. The points of
    trajectories that are `PointBlocks` are in memory of this process's arrays; None for a message without such points.
    """
    kind: Any = type(message)
    found = []
    for path, place in _layout(kind).points:
        points = _points(message, path)
        if isinstance(points, PointBlocks) and points.is_complete and len(points):
            found.append((path, place, points, _written(points)))
    if not found:
        yield None
        return
    destroy = DESTRUCTION(function_of(kind, "_DESTROY_ROS_MESSAGE"))
    address = CREATION(function_of(kind, "_CREATE_ROS_MESSAGE"))()
    with ExitStack() as cleared:
        cleared.callback(destroy, address)
        with ExitStack() as restored:
            for path, _, points, _ in found:
                restored.callback(_set_points, message, path, points)
                _set_points(message, path, [])
            fill(message, address)
        for _, place, points, rows in found:
            cleared.callback(ctypes.memset, address + place, 0, LIST)  # the message does not own the arrays
            fields = np.array([rows.ctypes.data, len(points), len(points)], dtype=np.uint64)
            ctypes.memmove(address + place, fields.ctypes.data, LIST)
        yield address


def _points(message: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        message = getattr(message, name)
    return message.points


def _written(points: PointBlocks) -> Any:
    """Return points as in the memory of a message; their numbers are in the arrays of the blocks."""
    rows = np.zeros(len(points), POINT)
    rows["sec"], rows["nanosec"] = points.seconds, points.nanoseconds
    for kind, block in points.blocks.items():
        sizes = block.sizes.astype(np.uint64)
        starts = block.values.ctypes.data + WORD * (np.cumsum(block.sizes) - block.sizes)
        rows[kind]["data"] = np.where(block.sizes > 0, starts, 0).astype(np.uint64)
        rows[kind]["size"] = rows[kind]["capacity"] = sizes
    return rows


def read_points(data: int, count: int) -> PointBlocks:
    """Return a copy of points in memory; without their numbers if there are more than MAX_READ."""
    points = _array(data, count, POINT)
    sec, nanosec, is_read = points["sec"].copy(), points["nanosec"].copy(), count <= MAX_READ
    blocks = {kind: _read_block(points[kind]) if is_read else Block.empty(count) for kind in KINDS}
    return PointBlocks(sec, nanosec, blocks, is_read)


def _read_block(lists: Any) -> Block:
    """Return a copy of the numbers in lists. Other threads run between its parts."""
    parts = [_read_part(lists[first : first + PART]) for first in range(0, len(lists), PART)]
    return Block(np.concatenate([part.values for part in parts]), np.concatenate([part.sizes for part in parts]))


def _read_part(lists: Any) -> Block:
    sizes = lists["size"].astype(np.intp)
    total = int(sizes.sum())
    if not total:
        return Block.empty(len(lists))
    used = lists[sizes > 0]
    starts, lengths = used["data"].astype(np.int64) // WORD, used["size"].astype(np.int64)
    first = int(starts.min())
    memory = _array(first * WORD, int((starts + lengths).max()) - first, np.dtype("<f8"))  # with other data in between
    before = np.cumsum(lengths) - lengths
    return Block(memory[np.repeat(starts - first - before, lengths) + np.arange(total)], sizes)


def _array(address: int, count: int, kind: np.dtype[Any]) -> Any:
    """Return the memory at an address as an array."""
    interface = {"data": (address, True), "shape": (count,), "typestr": kind.str, "descr": kind.descr, "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=interface))
