"""The command `robot_cell`: starts the nodes of a cell, and a client given after `--`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ament_index_python.packages import get_package_prefix, get_package_share_directory

from ...errors import InvalidRequestError
from ...security.environment import CLIENT, OVERRIDE, enclave_path, has_security
from ...security.policy import require_path
from ..common.dds_profile import RANGE, set_dds_profile
from ..common.domain import Domain, NoFreeDomainError, reserve_domain
from .program import STOP_TIME, Program
from .respawn import NODE_RULE
from .session import Session
from .session_folder import JOURNAL, session_folder

PACKAGE = "robot_cell_planner"
EXECUTION = "execution"
NODES = ("simulated_robot", "scene", "kinematics", "collision", "planning", EXECUTION)
FIRST = ("simulated_robot", "scene", EXECUTION)  # forked before compiled kernels are loaded, which they hardly use
WITH_FRAMES = ("simulated_robot", "scene")  # publish names of frames
MOVEIT = "moveit_adapter"  # started with --moveit
DOMAINS = range(0, 233)
RECORDER = "recorder"
VIEWER = "viewer"
ENTRIES = "robot_cell_planner.nodes.common.start"  # module of the entry points of nodes
WRONG_USE = 2

EPILOG = """\
example:
  robot_cell --cell config/demo/cell.yaml -- python3 examples/pick_and_place.py
      starts the nodes and the client, ends the nodes when the client ends, and has the client's exit status
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit status of `Session.run`, or 2 for an invalid command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own, _, client = _partition(words)
    options = argument_parser().parse_args(own)
    with session_folder() as folder:
        try:
            domain = _domain(options.domain_id)
            programs = _programs(options, folder / JOURNAL)
        except (ValueError, NoFreeDomainError, InvalidRequestError) as error:
            print(f"robot_cell: {error}", file=sys.stderr)
            return WRONG_USE
        try:
            return _run(programs, _client(client, options), domain)
        finally:
            domain.close()


def _run(programs: Sequence[Program], client: Program | None, domain: Domain) -> int:
    environment = {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain.number),
        RANGE: os.environ.get(RANGE, "LOCALHOST"),
        "RCUTILS_COLORIZED_OUTPUT": os.environ.get("RCUTILS_COLORIZED_OUTPUT", str(int(sys.stderr.isatty()))),
    }
    print(f"ROS_DOMAIN_ID={domain.number} {RANGE}={environment[RANGE]}", file=sys.stderr, flush=True)
    set_dds_profile(environment)
    return Session(programs, client, environment).run()


def _client(command: Sequence[str], options: argparse.Namespace) -> Program | None:
    """The client that the command line names, if any. With security it has an enclave, unless it is given another."""
    if not command:
        return None
    return Program("client", command, owns_terminal=True, variables=_enclave(CLIENT, options))


def _enclave(name: str, options: argparse.Namespace) -> dict[str, str]:
    """Return the variable that sets the enclave of a process whose command line does not."""
    if not has_security(os.environ) or os.environ.get(OVERRIDE):
        return {}
    return {OVERRIDE: enclave_path(name, options.enclave_prefix, options.namespace)}


def node_command(
    node: str, cell: Path | None, parameters: Path, journal: Path, options: argparse.Namespace
) -> list[str]:
    """Return the program of one of NODES. journal: of the scene, if the parameters set none; a restarted scene node
    resumes from it. options: of the command line."""
    command = [_executable(f"{node}_node"), "--ros-args"]
    if node == "scene":
        command += ["-p", f"journal_file:={_yaml_string(str(journal))}"]  # may be overridden by the following file
    command += ["--params-file", str(parameters)]
    if cell is not None:
        command += ["-p", f"cell_file:={_yaml_string(str(cell))}"]
    if node in WITH_FRAMES and options.frame_prefix:
        command += ["-p", f"frame_prefix:={_yaml_string(options.frame_prefix)}"]
    if options.use_sim_time:
        command += ["-p", "use_sim_time:=true"]
    if not options.autostart:
        command += ["-p", "autostart:=false"]
    if options.namespace:
        command += ["-r", f"__ns:=/{options.namespace.lstrip('/')}"]
    if has_security(os.environ) or options.enclave_prefix:
        command += ["--enclave", enclave_path(f"{node}_node", options.enclave_prefix, options.namespace)]
    return command


def _partition(words: list[str]) -> tuple[list[str], str, list[str]]:
    if "--" not in words:
        return words, "", []
    at = words.index("--")
    return words[:at], "--", words[at + 1 :]


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command that starts the nodes."""
    parser = argparse.ArgumentParser(
        prog="robot_cell",
        description="Start the nodes of a robot cell, and end them together.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="robot_cell [up [CELL_FILE]] [options] [-- client [argument ...]]",
    )
    _add_files(parser)
    _add_choices_of_nodes(parser)
    _add_names(parser)
    _add_start_options(parser)
    return parser


def _add_files(parser: argparse.ArgumentParser) -> None:
    share = Path(get_package_share_directory(PACKAGE))
    parser.add_argument(
        "cell_file", type=Path, nargs="?", metavar="CELL_FILE", help="cell file, as --cell; before other options"
    )
    parser.add_argument(
        "--cell", type=Path, metavar="FILE", help='cell file (default: the demo cell); "" starts without one'
    )
    parser.add_argument(
        "--params",
        type=Path,
        metavar="FILE",
        default=share / "config" / "parameters.yaml",
        help="parameters of the nodes, in ROS's YAML format (default: config/parameters.yaml)",
    )


def _add_choices_of_nodes(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--only",
        nargs="+",
        choices=NODES,
        metavar="NODE",
        default=NODES,
        help=f"start only these nodes, of: {', '.join(NODES)}",
    )
    chosen.add_argument(
        "--without",
        nargs="+",
        choices=NODES,
        metavar="NODE",
        default=(),
        help="start all nodes except these, such as simulated_robot with a real robot",
    )
    respawned = parser.add_mutually_exclusive_group()
    respawned.add_argument(
        "--respawn",
        nargs="+",
        choices=NODES,
        metavar="NODE",
        default=NODES,
        help="restart only these nodes when they end (default: all)",
    )
    respawned.add_argument(
        "--no-respawn", action="store_const", const=(), dest="respawn", help="end all nodes when one ends"
    )


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", default="", help="namespace of all nodes")
    parser.add_argument(
        "--frame-prefix",
        default="",
        metavar="PREFIX",
        help='prefix of all frames in TF except world, such as "cell1/" (default: that of the parameters)',
    )
    parser.add_argument(
        "--enclave-prefix",
        default="",
        metavar="PATH",
        help="start each node in the enclave PATH/NODE of SROS 2 "
        "(default with ROS_SECURITY_ENABLE=true: NAMESPACE/robot_cell_planner)",
    )
    parser.add_argument(
        "--domain-id",
        type=int,
        metavar="N",
        help="ROS_DOMAIN_ID (default: the environment variable, else a free one on this machine)",
    )


def _add_start_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-autostart",
        action="store_false",
        dest="autostart",
        help="do not configure and activate the nodes (for a lifecycle manager)",
    )
    parser.add_argument(
        "--no-fork",
        action="store_false",
        dest="fork",
        help="start each node from its file (default: fork the nodes from one process that has imported their "
        "libraries, so that they share its memory and start faster)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FOLDER",
        help="record all topics in this new folder, a bag of rosbag2 (see robot_cell record)",
    )
    parser.add_argument("--moveit", action="store_true", help="also start moveit_adapter, for clients of MoveIt")
    parser.add_argument(
        "--view",
        action="store_true",
        help="also start the viewer node, a page on this computer (http://127.0.0.1:8080)",
    )
    parser.add_argument("--use-sim-time", action="store_true", help="use simulated time (/clock)")


def _domain(number: int | None) -> Domain:
    if number is None and not os.environ.get("ROS_DOMAIN_ID"):
        return reserve_domain()
    text = os.environ["ROS_DOMAIN_ID"] if number is None else str(number)
    if not text.isdecimal() or int(text) not in DOMAINS:
        raise ValueError(f"ROS_DOMAIN_ID is {text!r}, expected a whole number from {DOMAINS[0]} to {DOMAINS[-1]}")
    return Domain(int(text))


def _programs(options: argparse.Namespace, journal: Path) -> list[Program]:
    cell = _cell(options)
    parameters = options.params.resolve()
    for what, path in (("cell file", cell), ("parameters file", parameters)):
        if path is not None and not path.is_file():
            raise ValueError(f"{what} {path} {'is no file' if path.exists() else 'does not exist'}")
    if options.namespace and not re.fullmatch(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*", options.namespace):
        raise ValueError(f"{options.namespace!r} is not a ROS namespace")
    if options.enclave_prefix:
        require_path(f"/{options.enclave_prefix.strip('/')}")
    nodes = [
        Program(
            node,
            node_command(node, cell, parameters, journal, options),
            respawn=NODE_RULE if node in options.respawn or (node == MOVEIT and options.respawn) else None,
            holds_interrupt=True,
            entry=f"{ENTRIES}:{node}_node" if options.fork else "",
            forked_first=node in FIRST,
            ends_within=STOP_TIME if node == EXECUTION else 0.0,
        )
        for node in (*NODES, *((MOVEIT,) if options.moveit else ()))
        if node == MOVEIT or (node in options.only and node not in options.without)
    ]
    return [*_recorder(options), *nodes, *_viewer(options, cell, parameters, journal)]


def _cell(options: argparse.Namespace) -> Path | None:
    """Return the cell file that the nodes load: the demo cell by default; None for an empty name."""
    if options.cell is not None and options.cell_file is not None:
        raise ValueError(f"two cell files are given, {options.cell_file} and {options.cell}; expected one")
    given = options.cell_file or options.cell or Path(get_package_share_directory(PACKAGE), "config/demo/cell.yaml")
    return None if str(given) == "." else Path(given).resolve()


def _viewer(options: argparse.Namespace, cell: Path | None, parameters: Path, journal: Path) -> list[Program]:
    """Return the viewer of the session, if one is requested. It may end for good without ending the session."""
    if not options.view:
        return []
    command = node_command(VIEWER, cell, parameters, journal, options)
    return [Program(VIEWER, command, respawn=NODE_RULE, holds_interrupt=True, is_optional=True)]


def _recorder(options: argparse.Namespace) -> list[Program]:
    """Return the recorder of the session, if one is requested."""
    if options.record is None:
        return []
    if options.record.exists():
        raise ValueError(f"{options.record} exists already; --record makes a new folder")
    command = [_executable("robot_cell"), "record", str(options.record.resolve())]
    variables = _enclave(RECORDER, options)
    # Topics that it finds only at the end are recorded as long as their publishers run.
    return [
        Program(RECORDER, command, holds_interrupt=True, variables=variables, is_optional=True, ends_before_others=True)
    ]


def _executable(name: str) -> str:
    return str(Path(get_package_prefix(PACKAGE), "lib", PACKAGE, name))


def _yaml_string(text: str) -> str:
    """Return any text as a YAML string."""
    return "'" + text.replace("'", "''") + "'"
