"""A reserved process runs a program of a module with given descriptors, and ends with its owner."""

import os
import select
import subprocess
import sys

PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
import a_library
from robot_cell_planner.system.reserved_process import reserve_process, start_reserved
reserve_process()
read, write = os.pipe()
os.set_inheritable(write, True)
reserved = start_reserved("a_program", [write])
os.close(write)
print(os.read(read, 1000).decode(), end="")
print(reserved.wait(), start_reserved("a_program", [write]))
"""
MODULE = """
import os, sys
import a_library
from pathlib import Path
def main():
    command = Path("/proc/self/cmdline").read_bytes().rstrip(b"\\0").split(b"\\0")[1:3]
    facts = a_library.owner == os.getppid(), os.getsid(0) == os.getpid(), *map(bytes.decode, command)
    os.write(int(sys.argv[1]), "|".join(map(str, facts)).encode() + b"\\n")
    sys.exit(5)
"""
OWNER = """
import os, sys
from robot_cell_planner.system import reserved_process
reserved_process.reserve_process()
print(reserved_process._reserved[0][0].pid, flush=True)
sys.stdin.read()
"""


def test_the_program_shares_the_modules_of_its_owner(tmp_path):
    (tmp_path / "a_library.py").write_text("import os\nowner = os.getpid()\n")
    (tmp_path / "a_program.py").write_text(MODULE)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "True|True|-m|a_program\n5 None\n"


def test_it_ends_with_its_owner():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", OWNER], stdin=pipe, stdout=pipe) as owner:
        descriptor = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    assert select.select([descriptor], [], [], 60)[0], "the process still runs"
    os.close(descriptor)
