"""Nodes start beside what killed processes left in shared memory."""

import os
from pathlib import Path

import pytest

from robot_cell_planner.errors import NoCellError
from robot_cell_planner.nodes.common.shared_memory import remove_unfinished_ports

LONG_AGO = 1.0e9  # [s] since 1970
SHARED_MEMORY = Path("/dev/shm")
PORTS_PER_DOMAIN = 250  # of the RTPS standard, as the next two
FIRST_PORT, FIRST_UNICAST = 7400, 11
PARTICIPANTS = 8


def left_behind(path, content=b""):
    path.write_bytes(content)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.mark.parametrize("content", [b"", b"\0\0", bytes(4), b"\1\0\0\0" + bytes(60)])
def test_a_port_that_was_never_initialised_is_removed(tmp_path, content):
    port = left_behind(tmp_path / "fastdds_port7411", content)
    assert remove_unfinished_ports(tmp_path) == (port.name,)
    assert not port.exists()


def test_other_files_stay(tmp_path):
    kept = [
        left_behind(tmp_path / "fastdds_port7411", b"\2\0\0\0" + bytes(60)),
        left_behind(tmp_path / "fastdds_port7411_el"),
        left_behind(tmp_path / "fastdds_0e00990ce17147a4"),
        tmp_path / "fastdds_port7413",  # being created just now
    ]
    kept[-1].touch()
    assert remove_unfinished_ports(tmp_path) == ()
    assert all(path.exists() for path in kept)


def test_a_node_starts_where_another_was_killed_while_it_made_its_ports(domain, client, start_node):
    first = FIRST_PORT + PORTS_PER_DOMAIN * domain + FIRST_UNICAST
    ports = [SHARED_MEMORY / f"fastdds_port{first + 2 * number}" for number in range(PARTICIPANTS)]
    left = [left_behind(port) for port in ports if not port.exists()]
    try:
        start_node("scene_node")
        with pytest.raises(NoCellError):  # an answer of the node
            client.scene()
        assert all(port.stat().st_size for port in left if port.exists())  # removed, or made by the node
    finally:
        remove_unfinished_ports()
