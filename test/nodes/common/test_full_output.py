"""A node whose output nobody reads goes on: lines that do not fit the pipe are lost as a whole."""

import os
import re
import subprocess
import sys

import pytest

LINES = 12_000  # more than the pipe holds
NODE = """
import sys, types
import rclpy
from robot_cell_planner.nodes.common import start

def main():
    rclpy.init()
    node = rclpy.create_node("talking")
    for number in range(LINES):
        TALK
    return 0

sys.modules[f"{start.NODES}.scene.node"] = types.ModuleType("talking")
sys.modules[f"{start.NODES}.scene.node"].main = main
start.scene_node()
"""
TALKS = {
    "log": 'node.get_logger().warning(f"line {number} " + 100 * "x")',
    "print": 'print(f"line {number} " + 100 * "x", flush=True)',
    "error stream": 'sys.stderr.write(f"line {number} " + 100 * "x" + "\\\\n")',
}
LINE = re.compile(rb"(\[WARN\] \[[0-9.]+\] \[talking\]: )?line (\d+) x{100}")


def started(talk, output, domain):
    script = NODE.replace("LINES", str(LINES)).replace("TALK", TALKS[talk].replace("\\\\", "\\"))
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
    return subprocess.Popen([sys.executable, "-c", script], stdout=output, stderr=output, env=environment)


@pytest.mark.parametrize("talk", TALKS)
def test_a_node_ends_though_nobody_reads_what_it_prints(talk, domain):
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader:
        node = started(talk, write_end, domain)
        try:
            assert node.wait(120.0) == 0
        finally:
            node.kill()
            node.wait()
        assert os.get_blocking(write_end), "others that have the pipe still wait"
        os.close(write_end)
        *lines, rest = reader.read().split(b"\n")
    assert rest == b""
    found = [LINE.fullmatch(line) for line in lines]
    assert None not in found, "a line is there as a whole or not at all"
    assert [int(line[2]) for line in found] == list(range(len(found)))
    assert 0 < len(found) < LINES


def test_a_file_takes_all_lines(tmp_path, domain):
    with (tmp_path / "output").open("wb") as output:
        assert started("log", output, domain).wait(120.0) == 0
    assert (tmp_path / "output").read_bytes().count(b"\n") == LINES
