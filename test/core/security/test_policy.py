"""Policies are interpreted as by SROS 2; invalid ones are refused with their line."""

import re
from pathlib import Path

import pytest

from robot_cell_planner.errors import FileError, InvalidRequestError
from robot_cell_planner.security.policy import MAX_BYTES, read_policy

SHIPPED = sorted((Path(__file__).parents[3] / "config" / "security").glob("*.policy.xml"))
POLICY = """<policy version="0.2.0">
  <enclaves><enclave path="/cell/talker"><profiles>
    <profile ns="/" node="talker">
      {}
    </profile>
  </profiles></enclave></enclaves>
</policy>"""


def written(tmp_path, text):
    file = tmp_path / "talker.policy.xml"
    file.write_text(text, encoding="utf-8")
    return file


def enclave(tmp_path, accesses):
    (found,) = read_policy(written(tmp_path, POLICY.format(accesses)))
    return found


def test_names_are_those_of_topics_on_the_wire(tmp_path):
    """See https://design.ros2.org/articles/topic_and_service_names.html; rmw_fastrtps uses these names."""
    found = enclave(
        tmp_path,
        """<topics publish="ALLOW"><topic>chatter</topic><topic>~/own</topic><topic>/tf</topic></topics>
           <topics subscribe="ALLOW"><topic>heard</topic></topics>
           <services reply="ALLOW"><service>add</service></services>
           <services request="ALLOW"><service>/ask</service></services>
           <actions execute="ALLOW"><action>fib</action></actions>""",
    )
    goals = ("send_goal", "get_result", "cancel_goal")
    assert set(found.publishes) == {
        *("rt/chatter", "rt/talker/own", "rt/tf", "rr/addReply", "rq/askRequest"),
        *(f"rr/fib/_action/{part}Reply" for part in goals),
        *("rt/fib/_action/feedback", "rt/fib/_action/status"),
    }
    assert set(found.subscribes) == {
        *("rt/heard", "rq/addRequest", "rr/askReply"),
        *(f"rq/fib/_action/{part}Request" for part in goals),
    }
    moved = found.in_namespace("/one/")
    assert moved.path == "/one/cell/talker"
    assert {"rt/one/chatter", "rt/one/talker/own", "rt/tf", "rr/one/addReply", "rq/askRequest"} < set(moved.publishes)


def test_clients_and_servers_of_an_action_have_opposite_permissions(tmp_path):
    calls, executes = (
        enclave(tmp_path, f'<actions {use}="ALLOW"><action>fib</action></actions>') for use in ("call", "execute")
    )
    assert (calls.publishes, calls.subscribes) == (executes.subscribes, executes.publishes)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.name)
def test_a_shipped_policy_has_an_enclave_of_its_own_name(file):
    (found,) = read_policy(file)
    assert found.path == f"/robot_cell_planner/{file.name.removesuffix('.policy.xml')}"
    assert {"rt/rosout", "rt/parameter_events"} <= set(found.publishes)


def test_only_the_execution_node_may_command_the_robot_and_only_the_scene_node_the_scene():
    """The client is excluded: it may stop and steer the robot, but not command it as a driver."""
    publishers = {topic: [f.name for f in SHIPPED if topic in read_policy(f)[0].publishes] for topic in ALONE}
    assert publishers == {topic: [f"{node}.policy.xml"] for topic, node in ALONE.items()}


ALONE = {
    "rt/joint_commands": "execution_node",
    "rt/joint_states": "simulated_robot_node",
    "rt/scene/updates": "scene_node",
    "rt/tf": "scene_node",
}


@pytest.mark.parametrize(
    "accesses, reason",
    [
        ('<topics publish="DENY"><topic>a</topic></topics>', "line 4, <topics>: publish='DENY' is not supported"),
        ('<topics read="ALLOW"><topic>a</topic></topics>', "read='ALLOW' is not supported"),
        ('<topics publish="ALLOW"><topic>a b</topic></topics>', "'a b' is no name of a topic"),
        ('<topics publish="ALLOW"><topic>../a</topic></topics>', "'../a' is no name of a topic"),
        ('<topics publish="ALLOW"><service>a</service></topics>', "expected <topic>"),
        ('<topics publish="ALLOW"></topics>', "it has no <topic>"),
        ('<files publish="ALLOW"/>', "expected one of topics, services, actions"),
    ],
)
def test_invalid_content_is_refused_with_its_location(tmp_path, accesses, reason):
    with pytest.raises(InvalidRequestError, match=re.escape(reason)) as caught:
        enclave(tmp_path, accesses)
    assert "talker.policy.xml" in str(caught.value)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "empty"),
        ("<policy", "talker.policy.xml"),
        ('<policy version="9"/>', "expected <policy version='0.2.0'>"),
        ('<policy version="0.2.0"/>', "it has no <enclaves>"),
        (POLICY.replace("/cell/talker", "/cell/../talker").format(""), "no path of an enclave"),
        (POLICY.replace('node="talker"', "").format(""), "it has no node"),
        ("<!-- " + "x" * MAX_BYTES + " -->", f"at most {MAX_BYTES} are read"),
        (
            '<policy version="0.2.0" xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="none.xml"/></policy>',
            "none.xml",
        ),
    ],
    ids=["empty", "broken", "version", "no enclaves", "path", "no node", "size", "include"],
)
def test_a_file_that_is_not_a_policy_is_refused(tmp_path, text, reason):
    with pytest.raises((InvalidRequestError, FileError), match=re.escape(reason)):
        read_policy(written(tmp_path, text))


def test_a_policy_does_not_read_other_files_through_entities(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret_topic")
    entity = f'<!DOCTYPE policy [<!ENTITY e SYSTEM "{secret}">]>'
    text = entity + POLICY.format('<topics publish="ALLOW"><topic>&e;</topic></topics>')
    with pytest.raises((InvalidRequestError, FileError)) as caught:
        read_policy(written(tmp_path, text))
    assert "secret_topic" not in str(caught.value)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileError, match=r"none\.policy\.xml"):
        read_policy(tmp_path / "none.policy.xml")
