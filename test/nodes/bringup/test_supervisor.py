"""The supervisor, with dummy programs in place of nodes: programs that are started together end together."""

import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from rosbags.highlevel import AnyReader

from robot_cell_planner.errors import InvalidRequestError
from robot_cell_planner.nodes.bringup import session
from robot_cell_planner.nodes.bringup.output import Console, LinePrinter
from robot_cell_planner.nodes.bringup.program import STOP_TIME, Program
from robot_cell_planner.nodes.common.domain import FREE_TO_CHOOSE, reserve_domain
from robot_cell_planner.nodes.execution.parameters import PARAMETERS
from robot_cell_planner.nodes.execution.shutdown import RESULT_TIME
from robot_cell_planner.trajectory.sampler import SamplerOptions

# Runs a session of Python programs: a JSON list of [name, code, respawn], and the client's code or null.
SESSION = """
import json, os, sys
from robot_cell_planner.nodes.bringup.program import Program
from robot_cell_planner.nodes.bringup.respawn import RespawnRule
from robot_cell_planner.nodes.bringup.session import Session, ShutdownTimeouts

SLOW = "slow"
programs, client, timeouts = json.loads(sys.argv[1])
names = ("steady", "failures", "refusals", "refusal_steady", "first_delay", "longest_delay")
rule = RespawnRule(**{name: timeouts.pop(name) for name in names if name in timeouts})
def program(name, code, respawn=False, owns_terminal=False):
    optional = name.startswith("optional")
    command, ends_within = [sys.executable, "-S", "-c", code], 1e6 if name == SLOW else 0.0
    respawned = rule if respawn else None
    return Program(name, command, owns_terminal, respawned, is_optional=optional, ends_within=ends_within)
session = Session([program(*entry) for entry in programs],
                  program("client", client, owns_terminal=True) if client else None,
                  os.environ, ShutdownTimeouts(**timeouts))
sys.exit(session.run())
"""
# `signal.pause` would wait for ever for a signal that arrives just before it.
WAIT = "\nimport time\nwhile True: time.sleep(0.05)"
WAITING = f"import sys; print('ready', flush=True){WAIT}"
POLITE = f"import signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit(0));print('ready', flush=True){WAIT}"
STUBBORN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    f"print('ready', flush=True){WAIT}"
)

# Of a program that ends after several times the limit of a session.
SLOWLY = "(__import__('time').sleep(0.3), print('has stopped', flush=True), sys.exit(0))"


class Run:
    """A session in a process of its own."""

    def __init__(self, programs, client=None, **timeouts):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SESSION, json.dumps([programs, client, timeouts])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.seen = ""

    def wait_for(self, text):
        """Read the standard output until a text has been printed."""
        while text not in self.seen:
            line = self.process.stdout.readline()
            assert line, f"{text!r} was never printed, but: {self.seen!r} {self.process.stderr.read()!r}"
            self.seen += line

    def finish(self):
        """Exit status, standard output, standard error."""
        out, err = self.process.communicate()
        return self.process.returncode, self.seen + out, err


def wait_for_end(pid):
    """Wait until a process that is not ours has ended."""
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(os.pidfd_open(pid), selectors.EVENT_READ)
            selector.select()
    except ProcessLookupError:
        pass


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_end_of_the_client_ends_all_and_its_status_is_the_sessions():
    run = Run([["one", POLITE], ["two", WAITING]], "import sys; print('done'); sys.exit(7)")
    status, out, _ = run.finish()
    assert status == 7
    assert "done" in out
    assert "client" not in out, "the client's output has no name in front"


def test_lines_have_the_names_of_their_processes_in_front():
    code = "import sys; print('to out'); print('to err', file=sys.stderr); print('no newline', end='')"
    status, out, err = Run([["talker", code], ["a", WAITING]]).finish()
    assert "talker | to out\n" in out
    assert "talker | no newline\n" in out
    assert "talker | to err\n" in err
    assert status == 1, "it ended with 0, but should not have ended"


def test_a_process_that_dies_is_named_with_its_status_and_ends_the_others():
    status, _, err = Run([["lives", POLITE], ["dies", "raise SystemExit(3)"]]).finish()
    assert status == 3
    assert "dies ended with exit status 3; ending lives" in err


def test_a_process_that_is_killed_is_named_with_the_signal():
    status, _, err = Run([["dies", "import os; os.kill(os.getpid(), 11)"]]).finish()
    assert status == 1
    assert "dies ended with signal SIGSEGV" in err


def test_a_process_that_is_killed_by_a_signal_without_a_name_is_named_with_its_number():
    """Most real-time signals have none."""
    number = signal.SIGRTMIN + 6
    status, _, err = Run([["lives", POLITE]], f"import os; os.kill(os.getpid(), {number})").finish()
    assert status == 128 + number
    assert f"client ended with signal {number}\n" in err


def test_the_end_of_an_optional_program_does_not_end_the_session():
    run = Run([["optional", "raise SystemExit(3)"], ["one", POLITE]])
    run.wait_for("one      | ready")
    assert "optional ended with exit status 3; the others continue" in run.process.stderr.readline()
    run.process.send_signal(signal.SIGINT)
    status, _, err = run.finish()
    assert status == 0
    assert "SIGINT: ending one\n" in err


def test_a_program_that_does_not_exist_is_named_and_ends_those_that_run():
    code = SESSION.replace(
        '[sys.executable, "-S", "-c", code]', "[code] if name == 'absent' else [sys.executable, '-S', '-c', code]"
    )
    argument = json.dumps([[["lives", POLITE], ["absent", "/nowhere/program"]], None, {}])
    result = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True)
    assert result.returncode == 127
    assert "absent cannot be started" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all(number):
    run = Run([["one", POLITE], ["two", WAITING]])
    run.wait_for("one | ready")
    run.wait_for("two | ready")
    run.process.send_signal(number)
    status, _, err = run.finish()
    assert status == 0, err
    assert f"{number.name}: ending one, two" in err


def test_a_signal_during_the_client_is_a_failure():
    run = Run([["one", POLITE]], WAITING.replace("ready", "client waits"))
    run.wait_for("one    | ready")
    run.wait_for("client waits")
    run.process.send_signal(signal.SIGINT)
    assert run.finish()[0] == 128 + signal.SIGINT


def test_a_program_that_does_not_end_is_killed():
    run = Run([["stubborn", STUBBORN]], interrupt=0.05, terminate=0.05)
    run.wait_for("stubborn | ready")
    run.process.send_signal(signal.SIGINT)
    status, _, err = run.finish()
    assert status == 1
    assert "stubborn did not end: sending SIGTERM" in err
    assert "stubborn did not end: sending SIGKILL" in err


def test_a_program_that_may_take_longer_is_waited_for():
    """As the execution node, whose robots come to rest first."""
    run = Run([["slow", POLITE.replace("sys.exit(0)", SLOWLY)]], interrupt=0.05, terminate=0.05)
    run.wait_for("slow | ready")
    run.process.send_signal(signal.SIGINT)
    status, out, err = run.finish()
    assert status == 0, err
    assert "slow | has stopped" in out
    assert "did not end" not in err


def test_others_are_not_waited_for_any_longer_when_it_has_ended():
    slow = POLITE.replace("sys.exit(0)", SLOWLY)
    run = Run([["slow", slow], ["stubborn", STUBBORN]], interrupt=0.05, terminate=0.05)
    run.wait_for("slow     | ready")
    run.wait_for("stubborn | ready")
    run.process.send_signal(signal.SIGINT)
    status, out, err = run.finish()
    assert status == 1
    assert "slow     | has stopped" in out
    assert "stubborn did not end: sending SIGTERM" in err
    assert "slow did not end" not in err


def test_the_execution_node_has_time_for_the_slowest_stop():
    from robot_cell_planner.nodes.bringup.command_line import _programs, argument_parser

    lowest = {each.name: each.lower for each in PARAMETERS if each.name in ("scale_acceleration", "scale_jerk")}
    goal_time = next(each.default for each in PARAMETERS if each.name == "goal_time")
    assert SamplerOptions(**lowest).stop_time + goal_time + RESULT_TIME < STOP_TIME
    programs = _programs(argument_parser().parse_args([]), Path("journal"))
    assert {each.name: each.ends_within for each in programs if each.ends_within} == {"execution": STOP_TIME}


def test_a_node_whose_middleware_does_not_close_in_time_is_no_failure():
    run = Run([["node", POLITE.replace("sys.exit(0)", "signal.raise_signal(signal.SIGALRM)")]])
    run.wait_for("node | ready")
    run.process.send_signal(signal.SIGINT)
    status, _, err = run.finish()
    assert status == 0, err


def test_a_node_that_is_interrupted_while_it_starts_is_no_failure():
    """It has the status of `dependencies.start`."""
    run = Run([["node", POLITE.replace("sys.exit(0)", "sys.exit(130)")]])
    run.wait_for("node | ready")
    run.process.send_signal(signal.SIGINT)
    status, _, err = run.finish()
    assert status == 0, err
    assert "exit status" not in err


def test_a_program_that_ends_by_itself_is_neither_named_nor_killed():
    run = Run(
        [["stubborn", STUBBORN], ["polite", "import os; print(os.getpid());" + POLITE]], interrupt=1e6, terminate=0.05
    )
    run.wait_for("stubborn | ready")
    run.wait_for("polite   | ready")
    pid = int(run.seen.partition("polite   | ")[2].split()[0])
    run.process.send_signal(signal.SIGINT)
    wait_for_end(pid)
    run.process.send_signal(signal.SIGINT)
    _, _, err = run.finish()
    assert "stubborn did not end: sending SIGTERM" in err
    assert "polite did not end" not in err


def test_a_second_signal_does_not_wait():
    run = Run([["stubborn", STUBBORN]], interrupt=1e6, terminate=1e6)
    run.wait_for("stubborn | ready")
    printed = ""
    for expected in ("SIGINT: ending", "sending SIGTERM", "sending SIGKILL"):
        run.process.send_signal(signal.SIGINT)
        while expected not in printed:
            line = run.process.stderr.readline()
            assert line, printed
            printed += line
    assert run.finish()[0] == 1


def test_a_failure_while_ending_is_a_failure():
    failing = POLITE.replace("sys.exit(0)", "sys.exit(5)")
    run = Run([["failing", failing]])
    run.wait_for("ready")
    run.process.send_signal(signal.SIGINT)
    status, _, err = run.finish()
    assert status == 1
    assert "failing ended with exit status 5" in err


def test_a_process_may_be_started_again_until_it_fails_too_often():
    status, _, err = Run([["flaky", "raise SystemExit(4)", True], ["other", POLITE]], failures=3, steady=1e6).finish()
    assert status == 4
    assert err.count("flaky ended with exit status 4; restarting it") == 2
    assert "flaky ended with exit status 4; ending other" in err


def test_a_healthy_process_is_started_again_each_time():
    run = Run([["flaky", "print('up', flush=True)", True]], failures=1, steady=0.0)
    for count in range(1, 6):
        while run.seen.count("flaky | up") < count:
            run.seen += run.process.stdout.readline()
    run.process.send_signal(signal.SIGINT)
    assert run.finish()[0] == 0


def test_a_program_that_ends_too_often_is_given_up_in_one_line():
    status, _, err = Run([["flaky", "raise SystemExit(4)", True]], failures=4, steady=1e6, first_delay=0.01).finish()
    assert status == 4
    assert err.count("is not restarted") == 1
    assert "flaky is not restarted: it ended 4 times in a row" in err
    assert [line for line in err.splitlines() if "restarting it in" in line] == [
        "supervisor | flaky ended with exit status 4; restarting it in 0.01 s",
        "supervisor | flaky ended with exit status 4; restarting it in 0.02 s",
    ]


def test_a_program_that_refuses_to_start_is_not_restarted():
    code = "import sys; print('wrong cell file', file=sys.stderr); raise SystemExit(1)"
    status, _, err = Run([["picky", code, True], ["other", POLITE]], refusals=[1]).finish()
    assert status == 1
    assert err.count("wrong cell file") == 1
    assert "restarting it" not in err


def test_a_program_that_has_started_once_is_restarted_although_it_refuses(tmp_path):
    """The second run refuses to start, as if a dependency were not available yet; the third one runs."""
    count = tmp_path / "count"
    count.write_text("0")
    code = (
        f"import os, signal, sys; path = {str(count)!r}; run = int(open(path).read()) + 1;"
        "open(path, 'w').write(str(run));"
        "run == 1 and os.kill(os.getpid(), 9); run == 2 and sys.exit(1); print('runs', flush=True)" + WAIT
    )
    run = Run([["picky", code, True]], refusals=[1], failures=3, steady=1e6, refusal_steady=1e6, first_delay=0.01)
    run.wait_for("picky | runs")
    run.process.send_signal(signal.SIGINT)
    assert run.finish()[0] == 0


def test_the_session_ends_while_a_program_waits_for_its_next_start():
    run = Run([["flaky", "raise SystemExit(4)", True], ["other", POLITE]], failures=9, steady=1e6, first_delay=1e6)
    run.wait_for("other | ready")
    printed = ""
    while "restarting it in" not in printed:
        printed += run.process.stderr.readline()
    run.process.send_signal(signal.SIGTERM)
    assert run.finish()[0] == 0


def test_nodes_that_publish_names_of_frames_have_their_prefix():
    from robot_cell_planner.nodes.bringup.command_line import _programs, argument_parser

    def prefixed(*words):
        programs = _programs(argument_parser().parse_args(words), Path("journal"))
        return {each.name for each in programs if "frame_prefix:='cell1/'" in each.command}

    assert prefixed("--frame-prefix", "cell1/", "--moveit") == {"scene", "simulated_robot"}
    assert prefixed() == set()


def test_the_nodes_are_restarted_unless_disabled():
    from robot_cell_planner.nodes.bringup.command_line import NODES, _programs, argument_parser

    def respawned(*words):
        return [each.name for each in _programs(argument_parser().parse_args(words), Path("journal")) if each.respawn]

    assert respawned() == list(NODES)
    assert respawned("--no-respawn") == []
    assert respawned("--respawn", "scene", "planning") == ["scene", "planning"]


def test_the_cell_file_is_an_argument_or_an_option(tmp_path):
    from robot_cell_planner.nodes.bringup.command_line import _programs, argument_parser

    file = tmp_path / "cell.yaml"
    file.touch()

    def loaded(*words):
        scene, *_ = _programs(argument_parser().parse_args([*words, "--only", "scene"]), Path("journal"))
        return next((word for word in scene.command if word.startswith("cell_file:=")), "")

    assert loaded(str(file)) == loaded("--cell", str(file)) == f"cell_file:='{file}'"
    assert loaded("--domain-id", "3", str(file), "--moveit") == loaded(str(file))
    assert loaded().endswith("config/demo/cell.yaml'")
    assert loaded("--cell", "") == loaded("") == ""
    with pytest.raises(ValueError, match="two cell files are given"):
        loaded(str(file), "--cell", str(file))
    with pytest.raises(ValueError, match=r"nothing\.yaml does not exist"):
        loaded("nothing.yaml")


def enclaves(*words):
    """Enclaves of the nodes, and of a client, as `robot_cell up` starts them."""
    from robot_cell_planner.nodes.bringup.command_line import _client, _programs, argument_parser

    options = argument_parser().parse_args([*words, "--only", "scene"])
    *recorders, scene = _programs(options, Path("journal"))
    command = list(scene.command)
    found = command[command.index("--enclave") + 1] if "--enclave" in command else ""
    return found, *(dict(other.variables) for other in (_client(["true"], options), *recorders))


def test_nodes_and_client_have_the_enclaves_of_the_keystore_with_security_alone(monkeypatch):
    override = "ROS_SECURITY_ENCLAVE_OVERRIDE"
    for name in ("ROS_SECURITY_ENABLE", override):
        monkeypatch.delenv(name, raising=False)
    assert enclaves() == ("", {})
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    assert enclaves() == ("/robot_cell_planner/scene_node", {override: "/robot_cell_planner/client"})
    recorder = {override: "/robot_cell_planner/recorder"}
    assert enclaves("--record", "new_folder")[2] == recorder
    found = ("/one/robot_cell_planner/scene_node", {override: "/one/robot_cell_planner/client"})
    assert enclaves("--namespace", "one") == found
    assert enclaves("--enclave-prefix", "/my/cell")[0] == "/my/cell/scene_node"
    monkeypatch.setenv(override, "/shop/monitor")
    assert enclaves()[1] == {}
    with pytest.raises(InvalidRequestError, match="no path of an enclave"):
        enclaves("--enclave-prefix", "../outside")


def test_no_process_outlives_a_supervisor_that_is_killed():
    run = Run([["stubborn", "import os; print(os.getpid());" + STUBBORN]])
    run.wait_for("ready")
    pid = int(run.seen.split("|")[1].split()[0])
    run.process.kill()
    wait_for_end(pid)
    assert not is_alive(pid)


def test_child_processes_end_with_their_parent():
    start = f"subprocess.Popen([sys.executable, '-S', '-c', {STUBBORN!r}])"
    code = f"import subprocess, sys; print({start}.pid, flush=True)"
    run = Run([["parent", code], ["other", POLITE]])
    status, out, _ = run.finish()
    assert status == 1
    pid = int(next(line for line in out.splitlines() if line.startswith("parent")).split("|")[1])
    wait_for_end(pid)
    assert not is_alive(pid)


def test_nodes_that_are_ended_before_they_have_started_end_without_output():
    status, out, err = command("--", sys.executable, "-c", "raise SystemExit(9)")
    assert status == 9
    assert out == ""
    # A fast node may have printed that it started.
    lines = [line for line in err.splitlines() if "[INFO]" not in line]
    assert [line for line in lines if not line.startswith(("ROS_DOMAIN_ID", "supervisor "))] == []


def test_a_closed_output_ends_the_session():
    run = Run([["talker", "print('ready', flush=True)\nwhile True: print('x' * 1000, flush=True)"]])
    run.wait_for("ready")
    run.process.stdout.close()
    assert run.process.wait() == 1
    assert "Traceback" not in run.process.stderr.read()


@pytest.mark.parametrize("buffered", [True, False])
def test_an_output_that_does_not_block_gets_all_lines(buffered):
    """Another program with the same terminal may have set it so, as those in Node.js and asyncio do."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    lines = [f"line {number} with ümlaut" for number in range(20_000)]
    file = open(writer, "wb", buffering=-1 if buffered else 0)  # noqa: SIM115
    with io.TextIOWrapper(file, "utf-8", write_through=not buffered) as stream:
        console = Console(1)

        def write():
            console.write("".join(f"{line}\n" for line in lines), stream)
            stream.close()

        thread = threading.Thread(target=write)
        thread.start()
        with open(reader, encoding="utf-8") as found:
            assert found.read().splitlines() == lines
        thread.join()
    assert not console.closed


def test_long_and_broken_lines_are_printed(capsys):
    printer = LinePrinter(Console(4), sys.stdout, "name", 0)
    printer.feed(b"half a ")
    printer.feed(b"line\n\xff\xfe\r\nrest")
    printer.feed(b"y" * 70_000)
    printer.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name | half a line"
    assert lines[1] == "name | ��"
    assert lines[2] == "name | rest" + "y" * 70_000


def test_a_long_wait_for_libraries_is_explained_once(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: now[0]))
    started = session.Session([Program("scene", ["scene"])], None, {})
    for now[0] in (100.1, 105.0, 105.1, 106.0, 200.0):
        assert started._waits_on(100.0)
        assert (session.LIBRARIES_LOAD in capsys.readouterr().err) == (now[0] == 105.1)
    started._stops.append(signal.SIGINT)
    assert not started._waits_on(100.0)


def test_reserved_domains_differ_until_they_are_given_back():
    reserved = [reserve_domain() for _ in range(3)]
    numbers = [domain.number for domain in reserved]
    assert len(set(numbers)) == 3
    assert all(number in FREE_TO_CHOOSE for number in numbers)
    code = "from robot_cell_planner.nodes.common.domain import reserve_domain; print(reserve_domain().number)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other.stdout) not in numbers
    for domain in reserved:
        domain.close()


@pytest.mark.parametrize("address, offset", [("", 0), ("127.0.0.1", 10), ("127.0.0.1", 11 + 2 * 7)])
def test_a_domain_in_which_a_participant_listens_is_not_chosen(address, offset):
    """The ports are those of all participants, of the first one, and of the eighth one for messages."""
    domain = reserve_domain()
    domain.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind((address, 7400 + 250 * domain.number + offset))
        other = reserve_domain()
        assert other.number != domain.number
        other.close()
    again = reserve_domain()
    assert again.number == domain.number
    again.close()


def command(*arguments, **environment):
    """Run `robot_cell`; its exit status, standard output and standard error."""
    result = subprocess.run(
        ["robot_cell", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    return result.returncode, result.stdout, result.stderr


def test_a_missing_cell_file_is_one_line(tmp_path):
    status, _, err = command("--cell", str(tmp_path / "absent.yaml"))
    assert status == 2
    assert err == f"robot_cell: cell file {tmp_path / 'absent.yaml'} does not exist\n"


def test_a_folder_in_place_of_a_cell_file_is_not_called_absent(tmp_path):
    status, _, err = command("up", str(tmp_path))
    assert (status, err) == (2, f"robot_cell: cell file {tmp_path} is no file\n")


@pytest.mark.parametrize(
    "arguments, environment, expected",
    [
        (["--namespace", "1cell"], {}, "'1cell' is not a ROS namespace"),
        (["--domain-id", "300"], {}, "ROS_DOMAIN_ID is '300', expected a whole number from 0 to 232"),
        ([], {"ROS_DOMAIN_ID": "seven"}, "ROS_DOMAIN_ID is 'seven', expected a whole number from 0 to 232"),
        (["--params", "/nowhere.yaml"], {}, "parameters file /nowhere.yaml does not exist"),
        (["--record", "/tmp"], {}, "/tmp exists already; --record makes a new folder"),
    ],
)
def test_wrong_options_are_named_in_one_line(arguments, environment, expected):
    status, _, err = command(*arguments, **environment)
    assert status == 2
    assert err == f"robot_cell: {expected}\n"


def test_a_domain_that_is_set_is_used():
    status, out, err = command(
        "--only",
        "scene",
        "--",
        sys.executable,
        "-c",
        "import os; print(os.environ['ROS_DOMAIN_ID'])",
        ROS_DOMAIN_ID="77",
    )
    assert status == 0, err
    assert out == "77\n"
    assert err.startswith("ROS_DOMAIN_ID=77 ROS_AUTOMATIC_DISCOVERY_RANGE=")


def test_a_session_is_recorded(tmp_path):
    bag = tmp_path / "bag"
    client = ["robot_cell", "call", "scene/get_state", "--timeout", "200"]
    status, out, err = command("--only", "scene", "--record", str(bag), "--", *client)
    assert status == 0, err
    assert "revision: 1" in out
    with AnyReader([bag]) as reader:
        assert "/scene/state" in {connection.topic for connection in reader.connections}
