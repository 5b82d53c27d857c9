"""seccomp filter that allows only the system calls needed for reading, computing and writing.

Numbers are those of asm/unistd_64.h (x86_64) and asm-generic/unistd.h (aarch64). Other machines have no filter.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

# (x86_64, aarch64); None if a machine has no such call.
ALLOWED: dict[str, tuple[int, int | None]] = {
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "preadv": (295, 69), "write": (1, 64),
    "writev": (20, 66), "close": (3, 57), "fstat": (5, 80), "stat": (4, None), "lstat": (6, None),
    "newfstatat": (262, 79), "statx": (332, 291), "lseek": (8, 62), "mmap": (9, 222), "munmap": (11, 215),
    "mprotect": (10, 226), "mremap": (25, 216), "brk": (12, 214), "madvise": (28, 233), "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "fcntl": (72, 25),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "getdents": (78, None),
    "getdents64": (217, 61), "getcwd": (79, 17), "readlink": (89, None), "readlinkat": (267, 78), "statfs": (137, 43),
    "fstatfs": (138, 44), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "uname": (63, 160), "sysinfo": (99, 179), "getrusage": (98, 165),
    "gettimeofday": (96, 169), "time": (201, None), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "times": (100, 153), "futex": (202, 98),
    "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293), "getrandom": (318, 278),
    "getcpu": (309, 168), "exit": (60, 93), "exit_group": (231, 94), "restart_syscall": (219, 128),
    "membarrier": (324, 283), "fadvise64": (221, 223), "getrlimit": (97, 163),
}  # fmt: skip
OPEN = {"x86_64": 2}
OPENAT = {"x86_64": 257, "aarch64": 56}
IOCTL = {"x86_64": 16, "aarch64": 29}
PRLIMIT = {"x86_64": 302, "aarch64": 261}
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_* of linux/audit.h
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
TERMINAL_QUERIES = (0x5401, 0x5413, 0x5451)  # TCGETS, TIOCGWINSZ, FIOCLEX

LOAD, EQUAL, ANY_BIT, AT_LEAST, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06  # BPF_LD|W|ABS, JEQ, JSET, JGE, RET
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000  # SECCOMP_RET_*
X32_CALLS = 0x40000000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]


def filter_system_calls(libc: ctypes.CDLL) -> bool:
    """Refuse all other system calls from now on, with EPERM; return whether kernel and machine support the filter."""
    machine = platform.machine()
    if machine not in MACHINES:
        return False
    code = _program(machine)
    instructions = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("@HP", len(code), ctypes.addressof(buffer))
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0)


def _program(machine: str) -> list[Instruction]:
    """Return the classic BPF program. Jumps give the number of instructions to skip if the test is true, and if it is
    false."""
    index = list(MACHINES).index(machine)
    code: list[Instruction] = [
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, MACHINES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32_CALLS),
        (RETURN, 0, 0, REFUSE | errno.EPERM),
    ]
    for calls in ALLOWED.values():
        number = calls[index]
        if number is not None:
            code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    for table, argument in ((OPEN, 1), (OPENAT, 2)):
        if machine in table:
            code += _only_if(table[machine], [_argument(argument), (ANY_BIT, 0, 1, WRITING), _refused(errno.EACCES)])
    queries: list[Instruction] = [_argument(1)]
    for query in TERMINAL_QUERIES:
        queries += [(EQUAL, 0, 1, query), (RETURN, 0, 0, ALLOW)]
    code += _only_if(IOCTL[machine], [*queries, _refused(errno.ENOTTY)])
    # prlimit may read limits (its third argument is null), not set them.
    low, high = ARGUMENTS + 8 * 2, ARGUMENTS + 8 * 2 + 4
    asks: list[Instruction] = [(LOAD, 0, 0, low), (EQUAL, 1, 0, 0), _refused(errno.EPERM)]
    code += _only_if(PRLIMIT[machine], [*asks, (LOAD, 0, 0, high), (EQUAL, 1, 0, 0), _refused(errno.EPERM)])
    return [*code, _refused(errno.EPERM)]


def _only_if(number: int, checks: list[Instruction]) -> list[Instruction]:
    """Return the instructions for one system call: the checks, then allow if none of them refused it."""
    body = [*checks, (RETURN, 0, 0, ALLOW)]
    return [(EQUAL, 0, len(body), number), *body]


def _argument(index: int) -> Instruction:
    """Load the low half of an argument."""
    return (LOAD, 0, 0, ARGUMENTS + 8 * index)


def _refused(number: int) -> Instruction:
    return (RETURN, 0, 0, REFUSE | number)
