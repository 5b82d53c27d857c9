"""The JSON-RPC servers as processes: `robot_cell rpc`, and the example in JavaScript."""

import http.client
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from robot_cell_planner.rpc.servers import RpcHttpServer
from robot_cell_planner.rpc.session import MAX_REQUEST, RpcSession

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "config" / "demo" / "cell.yaml"
COMMAND = [sys.executable, "-m", "robot_cell_planner.commands.main", "rpc"]
VERSION = {"jsonrpc": "2.0", "id": 1, "method": "version"}
NODE = shutil.which("node")


def lines(*requests):
    return "".join(json.dumps(request) + "\n" for request in requests)


def run(text, *words):
    return subprocess.run([*COMMAND, *words], input=text, capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_each_request_line_has_one_response_line():
    """The physics engine, which `command` loads, prints a line of its own."""
    moved = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "command",
        "params": {"positions": {"elbow_joint": 1.8}, "seconds": 0.1},
    }
    done = run(lines(VERSION, "x" * 10, moved), "--cell", str(DEMO))
    assert done.returncode == 0, done.stderr
    first, second, third = map(json.loads, done.stdout.splitlines())
    assert (first["id"], second["error"]["code"], third["id"]) == (1, -32600, 3)
    assert "robot_cell_planner" in first["result"]


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_answered():
    done = run("x" * (MAX_REQUEST + 10) + "\n" + lines(VERSION))
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["error"]["code"] == -32600
    assert second["id"] == 1


@pytest.fixture
def server(tmp_path):
    token_file = tmp_path / "token"
    token_file.write_text("an older token that others can read")
    token_file.chmod(0o644)
    words = ["--http", "0", "--token-file", str(token_file), "--cell", str(DEMO)]
    process = subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    output = process.stderr.readline()
    while "JSON-RPC on" not in output:
        assert process.poll() is None
        output = process.stderr.readline()
    port = int(output.split("127.0.0.1:")[1].split(",")[0])
    assert stat.S_IMODE(os.stat(token_file).st_mode) == 0o600
    assert token_file.read_text().strip() not in output
    yield port, token_file.read_text().strip()
    process.kill()
    process.wait(120)
    process.stderr.close()


def post(port, body, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("POST", "/", body, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def test_http_requires_the_token(server):
    port, token = server
    allowed = {"Authorization": f"Bearer {token}"}
    status, text = post(port, json.dumps(VERSION), **allowed)
    assert (status, json.loads(text)["id"]) == (200, 1)
    assert post(port, json.dumps(VERSION))[0] == 401
    assert post(port, json.dumps(VERSION), Authorization="Bearer wrong")[0] == 401
    assert post(port, json.dumps(VERSION), Authorization=f"Basic {token}")[0] == 401
    assert post(port, json.dumps(VERSION), Authorization=f"bearer {token}", Host="LocalHost:1")[0] == 200
    assert post(port, json.dumps(VERSION), Host="evil.example", **allowed)[0] == 403
    assert post(port, b"", **allowed | {"Content-Length": "-1"})[0] == 411
    assert post(port, b"", **allowed | {"Content-Length": str(MAX_REQUEST + 1)})[0] == 413
    status, text = post(port, json.dumps(VERSION), **allowed | {"Transfer-Encoding": "chunked"})
    assert (status, "not accepted" in text) == (411, True)
    notice = {"jsonrpc": "2.0", "method": "version"}
    assert post(port, json.dumps(notice), **allowed) == (204, "")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/")
    assert connection.getresponse().status == 501


@pytest.mark.parametrize(("missing", "calls"), [(0, 1), (5, 0)])
def test_a_client_that_leaves_is_no_error_and_half_a_request_is_not_called(capsys, missing, calls):
    log = io.StringIO()
    body = json.dumps(VERSION)
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\nContent-Length: {len(body)}\r\n\r\n"
    ours, theirs = socket.socketpair()
    theirs.sendall((head + body[: len(body) - missing]).encode())
    theirs.close()
    with RpcHttpServer(RpcSession(log=log), token="t") as server:
        server.process_request_thread(ours, ("client", 0))
    assert capsys.readouterr().err == ""
    assert len(log.getvalue().splitlines()) == calls


def test_options_are_refused_and_listed_without_the_library():
    program = (
        "import sys\nfrom robot_cell_planner.commands.main import main\nstatus = main({words!r})\n"
        "print(status, *({{'numpy', 'numba', 'pinocchio', 'coal'}} & set(sys.modules)))"
    )
    for words, status in ((["rpc", "--help"], "0"), (["rpc", "--wrong"], "2"), (["rpc", "--http", "x"], "2")):
        done = subprocess.run(
            [sys.executable, "-c", program.format(words=words)], capture_output=True, text=True, timeout=120, cwd=ROOT
        )
        assert done.stdout.splitlines()[-1] == status, done.stderr


def test_the_server_listens_on_the_loopback_interface_only(server):
    port, _ = server
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]
    assert listening == [f"0100007F:{port:04X}"]


def test_a_log_replays(tmp_path):
    log = tmp_path / "calls.jsonl"
    plan = {"goals": {"joint_goals": [{"elbow_joint": 1.2}]}}
    request = {"jsonrpc": "2.0", "id": 2, "method": "plan_motion", "params": {"request": plan}}
    load = {"jsonrpc": "2.0", "id": 1, "method": "load_cell", "params": [str(DEMO)]}
    assert run(lines(load, request), "--log", str(log)).returncode == 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    done = run("", "--replay", str(log))
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "2 calls, 0 with another response")
    log.write_text(log.read_text().replace("1.2", "1.3", 1))
    done = run("", "--replay", str(log))
    assert done.returncode == 1
    assert "plan_motion: result.path" in done.stderr


def refused(*words, text="", status=1):
    """The error of the command, which is one line with a remedy, or the end of the usage."""
    done = run(text, *words)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("link", [os.symlink, os.link, None])
def test_a_log_is_not_written_to_the_file_that_is_replayed(tmp_path, link):
    log = other = tmp_path / "calls.jsonl"
    run(lines(VERSION), "--log", str(log))
    before = log.read_bytes()
    if link is not None:
        other = tmp_path / "other"
        link(log, other)
    error = refused("--log", str(other), "--replay", str(log), status=2)
    assert f"--log and --replay are the same file {other}" in error
    assert log.read_bytes() == before
    new = str(tmp_path / "new")
    assert "are the same file" in refused("--log", new, "--replay", new, status=2)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xbd", "'utf-8' codec"),
        (
            b'{"request": 5, "response": ""}',
            "the request is 5, expected text",
        ),
        (b"[1]", "list indices"),
        (b'{"request": "' + b"[" * 10, "Unterminated string"),
        (
            b'{"request": "{}", "response": "' + b"[" * 100_000 + b'"}',
            "maximum",
        ),
    ],
    ids=["bytes", "number", "list", "unterminated", "deep"],
)
def test_a_replay_that_cannot_be_read_is_refused_in_one_line(tmp_path, content, expected):
    log = tmp_path / "calls.jsonl"
    log.write_bytes(content)
    first, remedy = refused("--replay", str(log)).splitlines()
    begin = f"robot_cell: json-rpc: {log}, line 1 is not an entry of a log of calls: {expected}"
    assert first[: len(begin)] == begin
    assert remedy.startswith("  -> ")


def test_files_and_ports_that_cannot_be_opened_are_named(tmp_path, server):
    port, _ = server
    assert f"rpc: {tmp_path / 'none'}: No such file" in refused("--replay", str(tmp_path / "none"))
    assert f"rpc: {tmp_path}: Is a directory" in refused("--log", str(tmp_path))
    assert f"rpc: {tmp_path}: Is a directory" in refused("--replay", str(tmp_path))
    assert f"rpc: {tmp_path}: Is a directory" in refused("--http", "0", "--token-file", str(tmp_path))
    assert f"port {port} of 127.0.0.1 cannot be opened: Address already in use" in refused("--http", str(port))
    assert run(lines(VERSION), "--log", str(tmp_path / "new" / "calls.jsonl")).returncode == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a.yaml", "--cell", "b.yaml"], "a cell file is given twice: a.yaml and --cell b.yaml"),
        (["--token-file", "token"], "--token-file is for the token of --http, which is missing"),
        (["--http", "0", "--replay", "log"], "--http and --replay exclude each other"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words, text):
    assert text in refused(*words, status=2)


def test_a_cell_file_is_given_as_argument_or_option():
    state = {"jsonrpc": "2.0", "id": 1, "method": "cell"}
    for words in ([str(DEMO)], ["--cell", str(DEMO)]):
        assert json.loads(run(lines(state), *words).stdout)["result"]["name"] == "demo"


def test_no_folder_is_created_in_the_root_of_the_file_system():
    for option in (["--log"], ["--http", "0", "--token-file"]):
        assert "No such file or directory" in refused(*option, "/no_folder_of_a_test/file")
    assert not Path("/no_folder_of_a_test").exists()


def test_a_reader_that_ends_early_and_a_full_disk_are_no_internal_errors():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "--describe"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("robot_cell: rpc: standard output: No space left on device\n")
    process = subprocess.Popen([*COMMAND, "--describe"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(120) == 1


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_the_example_in_javascript_plans_a_motion():
    environment = {**os.environ, "ROBOT_CELL": f"{sys.executable} -m robot_cell_planner.commands.main"}
    command = [NODE, str(ROOT / "examples" / "plan_over_rpc.js"), str(DEMO)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout
    assert "joint" in done.stdout
