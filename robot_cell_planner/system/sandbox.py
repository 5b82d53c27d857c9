"""Sandboxing of the current process with resource limits, Landlock and a system call filter.

Intended for processes that process one untrusted file. Layers that the kernel does not support are skipped, and
`confine` returns the active ones. Uses only the standard library and imports nothing of this package outside this
folder.

Sources: landlock(7), seccomp(2), getrlimit(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Iterable

from .system_call_filter import filter_system_calls

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_VERSION_FLAG, LANDLOCK_PATH_BENEATH = 1, 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# Landlock file access rights by ABI version: rights that are handled and not granted are refused.
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP_RIGHTS = 0b11  # bind and connect, since version 4
SCOPES = 0b11  # abstract sockets and signals, since version 6
PR_SET_NO_NEW_PRIVS = 38
O_PATH = getattr(os, "O_PATH", 0)
OPEN_FILES = 128


def confine(
    readable: Iterable[str], *, cpu_seconds: int, memory_bytes: int, output_bytes: int | None = None
) -> tuple[str, ...]:
    """Restrict this process to reading below `readable`, computing and writing to its open files.

    It can open no other file, write no file, start no program or process, create no socket, and not see or signal other
    processes.

    Args:
        readable: Folders that may be read.
        cpu_seconds: Max CPU time of this process.
        memory_bytes: Max memory of this process.
        output_bytes: Max size of each file that it writes to.

    Returns:
        The active layers, of "limits", "landlock" and "system calls".
    """
    libc = ctypes.CDLL(None, use_errno=True)
    layers = ["limits"]
    _set_limits(cpu_seconds, memory_bytes, output_bytes)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        if _restrict_files(libc, readable):
            layers.append("landlock")
        if filter_system_calls(libc):
            layers.append("system calls")
    return tuple(layers)


def _set_limits(cpu_seconds: int, memory_bytes: int, output_bytes: int | None) -> None:
    _limit(resource.RLIMIT_CPU, cpu_seconds)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    if output_bytes is not None:
        _limit(resource.RLIMIT_FSIZE, output_bytes)


def _limit(kind: int, value: int) -> None:
    """Set a limit, unless the current one is lower."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _restrict_files(libc: ctypes.CDLL, readable: Iterable[str]) -> bool:
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_VERSION_FLAG)
    if version < 1:
        return False
    files = max(right for since, right in FILE_RIGHTS.items() if since <= version)
    attributes = struct.pack("=QQQ", files, TCP_RIGHTS if version >= 4 else 0, SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow_reading(libc, ruleset, path)
        if libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock does not take effect")
    finally:
        os.close(ruleset)
    return True


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        handle = os.open(path, O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a path that does not exist cannot be read
    try:
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        rule = struct.pack("=Qi", rights, handle)
        if libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_PATH_BENEATH, rule, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"Landlock: {errno.errorcode.get(number, number)}", path)
    finally:
        os.close(handle)
