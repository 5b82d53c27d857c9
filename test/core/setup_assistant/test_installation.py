"""Findings about an installation."""

import resource

import pytest

from robot_cell_planner.setup_assistant import installation
from robot_cell_planner.setup_assistant.installation import check_installation, domains_in_use


@pytest.fixture
def proc(tmp_path):
    """The folder /proc of a computer that is set up correctly."""
    (tmp_path / "sys/net/core").mkdir(parents=True)
    (tmp_path / "net").mkdir()
    for name in ("rmem_max", "wmem_max"):
        (tmp_path / "sys/net/core" / name).write_text("4194304\n")
    (tmp_path / "swaps").write_text("Filename Type Size Used Priority\n")
    (tmp_path / "net/unix").write_text("Num RefCount Protocol Flags Type St Inode Path\n")
    return tmp_path


@pytest.fixture(autouse=True)
def limits(monkeypatch):
    """Limits of the process: none."""
    values = {}
    monkeypatch.setattr(installation, "realtime_granted", lambda priority: True)
    monkeypatch.setattr(resource, "getrlimit", lambda name: (values.get(name, -1),) * 2)
    return values


def texts(environment, proc):
    return [
        f"{found.level} {found.topic}: {found.text} -> {found.remedy}"
        for found in check_installation(environment, proc)
    ]


def test_a_configured_computer_has_no_findings(proc):
    assert texts({"ROS_DOMAIN_ID": "5", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, proc) == []


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({"ROS_DOMAIN_ID": "five"}, "error domain: ROS_DOMAIN_ID is 'five', expected a number from 0 to 232"),
        ({"ROS_DOMAIN_ID": "233"}, "error domain"),
        ({"ROS_DOMAIN_ID": "150"}, "warning domain: the ports of domain 150"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCAL"}, "error discovery: ROS_AUTOMATIC_DISCOVERY_RANGE is 'LOCAL'"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, "sees no other process"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, "every computer in the network can command the robot"),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_LOCALHOST_ONLY": "1"}, "ROS_LOCALHOST_ONLY is 1 and takes"),
        ({"ROBOT_CELL_PLANNER_CACHE": ""}, "there is no cache folder"),
        ({"ROS_SECURITY_ENABLE": "true"}, "error security: ROS_SECURITY_KEYSTORE is not set"),
        ({"ROS_SECURITY_ENABLE": "true"}, "warning security: ROS_SECURITY_STRATEGY is 'Permissive'"),
        ({"ROS_SECURITY_ENABLE": "TRUE"}, "error security: ROS_SECURITY_ENABLE is 'TRUE'"),
        ({"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": "/proc"}, "is /proc, which has no folder enclaves"),
    ],
)
def test_variables(environment, expected, proc, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert any(expected in text for text in texts(environment, proc))


def test_limits_of_the_system(proc, limits, monkeypatch):
    monkeypatch.setattr(installation, "realtime_granted", lambda priority: False)
    limits.update({resource.RLIMIT_RTPRIO: 0, resource.RLIMIT_MEMLOCK: 8 << 20, resource.RLIMIT_NOFILE: 1024})
    (proc / "sys/net/core/rmem_max").write_text("212992\n")
    found = texts({}, proc)
    assert ["real time" in found[0], "descriptors" in found[1], "rmem_max" in found[2]] == [True] * 3
    assert len(found) == 3  # locked memory does not matter without swap
    (proc / "swaps").write_text("Filename Type Size Used Priority\n/swapfile file 2097148 0 -2\n")
    assert any("memory can be locked up to 8192 KiB" in text for text in texts({}, proc))


def test_nodes_in_another_domain_are_named(proc):
    line = "0000: 00000002 00000000 00000000 0002 01 1234 @robot_cell_planner/node/{}/{}\n"
    (proc / "net/unix").write_text("header\n" + line.format(37, "ab" * 16) + line.format(37, "cd" * 16))
    assert domains_in_use(proc) == {37: 2}
    assert any("other domains have some: 37 (2) -> `export ROS_DOMAIN_ID=37`" in text for text in texts({}, proc))
    assert texts({"ROS_DOMAIN_ID": "37"}, proc) == []
