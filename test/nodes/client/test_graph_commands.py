"""`robot_cell call`, `echo` and `describe` beside a running node, and messages as plain values."""

import json
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from geometry_msgs.msg import Pose
from running import DEMO
from sensor_msgs.msg import JointState
from std_msgs.msg import Byte

from robot_cell_planner import srv
from robot_cell_planner.commands.actions import graph
from robot_cell_planner.commands.actions.cells import opened
from robot_cell_planner.commands.main import main
from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.common.domain import reserve_domain
from robot_cell_planner.nodes.conversions.plain_values import message_from_plain, message_to_plain
from robot_cell_planner.nodes.scene.node import PARAMETERS


@pytest.fixture(scope="module")
def command(start_node, client, domain):
    start_node("scene_node", cell_file=DEMO)
    client.scene()

    def run(*words, status=0):
        # Of a repeated option, the last one counts.
        given = ["robot_cell", words[0], "--domain-id", str(domain), "--timeout", "30", *words[1:]]
        done = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 or "--json" in words else done.stderr

    return run


def test_a_service_is_called_with_fields_in_yaml(command, client):
    revision = client.scene()[1]
    request = f"{{changes: [{{operation: {SceneChange.HIDE}, name: post}}]}}"
    reply = json.loads(command("call", "scene/apply_changes", request, "--json"))
    assert reply["revision"] == revision + 1 == client.scene()[1]
    assert client.scene()[0].state.bodies["post"].hidden
    text = command("call", "/scene/get_state")
    assert f"revision: {revision + 1}" in text


def test_a_command_takes_the_scene_of_the_running_nodes_for_a_cell_file(command, client, domain, monkeypatch, capsys):
    client.apply(SceneChange(operation=SceneChange.HIDE, name="post"))
    running = client.scene()[0].state
    assert main(["fk", "@running", "gripper/tcp", "table", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["poses"]
    assert main(["fk", str(DEMO), "gripper/tcp", "table", "--json"]) == 0
    assert found == json.loads(capsys.readouterr().out)["poses"]
    _, state = opened(Path("@running"), (), "", [("elbow_joint", 0.5)])
    assert state == running.with_configuration({"elbow_joint": 0.5})
    monkeypatch.setattr("robot_cell_planner.commands.actions.running.APPEARS_WITHIN", 0.1)
    assert main(["fk", "@running/nowhere"]) == 1
    assert "does its node run" in capsys.readouterr().err


def test_an_error_of_the_node_is_an_error_of_the_command(command):
    request = f"{{changes: [{{operation: {SceneChange.HIDE}, name: pots}}]}}"
    assert "nearest: post" in command("call", "scene/apply_changes", request, status=1)
    error = json.loads(command("call", "scene/apply_changes", request, "--json", status=1))["error"]
    assert error["name"] == "UnknownNameError"
    assert "field 'changs'" in command("call", "scene/apply_changes", "{changs: []}", status=1)


def test_a_service_that_does_not_appear_is_named_with_where_it_was_searched(command, domain):
    words = ("call", "scene/get_state", "--namespace", "cell9", "--timeout", "0.1")
    given = ["robot_cell", *words, "--domain-id", str(domain), "--json"]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["message"].endswith(f"Searched in namespace /cell9, ROS_DOMAIN_ID={domain}")
    assert "`robot_cell up` prints the ROS_DOMAIN_ID" in error["remedy"]


def test_the_services_of_the_command_itself_are_not_among_those_that_exist(command):
    assert "  /robot_cell_command/" not in command("describe")
    words = ("call", "robot_cell_command/list_parameters", "--timeout", "0.1")
    error = json.loads(command(*words, "--json", status=1))["error"]
    assert "service '/robot_cell_command/list_parameters' does not exist" in error["message"]
    assert "there are /robot_cell_command" not in error["message"]


def test_a_name_of_another_kind_is_distinguished_from_one_that_does_not_exist(command):
    error = json.loads(command("call", "scene/state", "--json", status=1))["error"]
    assert error["message"] == "/scene/state is a topic, not a service"
    error = json.loads(command("echo", "scene/get_state", "--json", status=1))["error"]
    assert error["message"] == "/scene/get_state is a service, not a topic"
    assert "`robot_cell call` takes services" in error["remedy"]


def test_a_misspelt_node_is_suggested_by_its_name(command):
    words = ("describe", "scene_nod", "--timeout", "3")
    error = json.loads(command(*words, "--json", status=1))["error"]
    assert error["message"].partition("nearest: ")[2].split(", ")[0] == "/scene_node"
    assert error["remedy"] == "`robot_cell describe` without a name prints all that the running nodes offer."


def test_a_description_of_a_domain_without_nodes_is_an_error():
    reserved = reserve_domain()
    given = ["robot_cell", "describe", "--domain-id", str(reserved.number), "--timeout", "0.1"]
    plain = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
    done = subprocess.run([*given, "--json"], capture_output=True, text=True, timeout=120, check=False)
    reserved.close()
    assert plain.stderr.startswith("robot_cell: graph: no node was found"), plain.stderr
    assert done.returncode == 1, done.stdout
    place = f"Searched in namespace /, ROS_DOMAIN_ID={reserved.number}"
    assert json.loads(done.stdout)["error"]["message"] == f"no node was found within 0.1 s. {place}"


def test_latched_messages_of_a_topic_are_printed(command):
    message = json.loads(command("echo", "scene/state", "--count", "1", "--json"))
    assert "shoulder_pan_joint" in json.dumps(message)


def test_running_nodes_and_interfaces_are_described(command):
    text = command("describe")
    assert "service  /scene/apply_changes  [robot_cell_planner/srv/ApplyChanges]" in text
    text = command("describe", "scene/apply_changes")
    assert text.startswith("robot_cell_planner/srv/ApplyChanges\n")
    assert "SceneChange[] changes" in text
    assert "float64[] position" in command("describe", "sensor_msgs/msg/JointState")
    assert "sensor_msgs/msg/Nothing is not installed" in command("describe", "sensor_msgs/msg/Nothing", status=1)


def test_parameters_of_a_node_are_described_and_protected(command):
    found = json.loads(command("describe", "scene_node", "--json"))
    assert found["node"] == "/scene_node"
    parameters = {each["name"]: each for each in found["parameters"]}
    expected = {each.name: each for each in PARAMETERS}
    for name in ("cell_file", "tf_rate"):
        assert parameters[name]["description"] == expected[name].description
    assert parameters["cell_file"]["value"] == str(DEMO)
    assert parameters["cell_file"]["read_only"]
    assert parameters["tf_rate"]["bounds"] == [expected["tf_rate"].lower, expected["tf_rate"].upper]
    value = "{parameters: [{name: tf_rate, value: {type: 3, double_value: 2.5}}]}"
    reply = json.loads(command("call", "scene_node/set_parameters", value, "--json", status=1))
    assert reply["results"][0]["successful"] is False
    lines = command("describe", "scene_node").splitlines()
    place = lines.index("tf_rate: 100.0  [0.1 to 1000]  read-only")
    assert lines[place + 1].strip() == expected["tf_rate"].description


def test_messages_survive_conversion_to_plain_values_and_back():
    state = JointState(name=["a", "b"], position=[1.0, -2.5])
    state.header.frame_id = "world"
    assert message_from_plain(JointState, message_to_plain(state)) == state
    change = SceneChange(operation=SceneChange.MOVE, name="post", pose=Pose())
    request = srv.ApplyChanges.Request(changes=[change])
    assert message_from_plain(srv.ApplyChanges.Request, message_to_plain(request)) == request
    assert message_from_plain(JointState, {"position": [1, 2]}).position.tolist() == [1.0, 2.0]


def test_bytes_are_whole_numbers():
    assert message_from_plain(Byte, {"data": 7}).data == b"\x07"
    with pytest.raises(InvalidRequestError, match="data is True"):
        message_from_plain(Byte, {"data": True})


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"nme": []}, "nearest: name"),
        ({"name": "a"}, "name is 'a', expected a list"),
        ({"position": ["a"]}, r"position\[0\] is 'a', expected a value of type double"),
        ({"header": 3}, "header is 3, expected a mapping with fields of stamp, frame_id"),
        ({"header": {"stamp": {"sec": 2**40}}}, "header.stamp"),
    ],
)
def test_values_that_do_not_fit_are_named(values, text):
    with pytest.raises(InvalidRequestError, match=text):
        message_from_plain(JointState, values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"operation": "HIDE"}, "operation is 'HIDE', expected a value of type uint8: HIDE is 7"),
        ({"operation": "7"}, "operation is '7', expected a value of type uint8$"),
        ({"name": 7}, "name is 7, expected a value of type string: write '7' in quotes"),
        ({"name": "HIDE", "touch_links": [0.5]}, r"touch_links\[0\] is 0.5, .* string: write '0.5' in quotes"),
    ],
)
def test_a_constant_and_a_number_in_place_of_a_text_have_what_to_write(values, text):
    with pytest.raises(InvalidRequestError, match=text):
        message_from_plain(SceneChange, values)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({}, True),
        ({"success": True, "message": ""}, True),
        ({"success": False, "message": "no"}, False),
        ({"result": {"successful": False, "reason": ""}}, False),
        ({"results": [{"successful": True}, {"successful": False}]}, False),
        ({"results": [{"solutions": []}], "result": 3}, True),
    ],
)
def test_replies_that_are_not_successful_are_known(reply, status):
    assert graph.is_successful(reply) is status


@pytest.mark.parametrize("words", [("call", "scene/nothing"), ("echo", "nothing"), ("describe", "nothing")])
def test_a_terminal_shows_what_is_waited_for(command, domain, words):
    terminal, end = pty.openpty()
    given = ["robot_cell", *words, "--domain-id", str(domain), "--timeout", "2"]
    process = subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    shown = b""
    with suppress(OSError):  # the process has closed the other end
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    assert process.wait(60) == 1
    assert re.search(rb"waiting for (service|topic|the running nodes)[ \w/]*: 1 s", shown), shown
