"""The commands of `robot_cell` besides `up`."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

import click

from .. import __version__
from .deferred import imported

# Module that declares each command, which is imported when the command is used, and its line in the help.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("demo", "Run a demonstration in simulation."),
    "new": ("new", "Draft a cell from a robot description."),
    "import": ("exchange", "Make a cell of files of another program."),
    "export": ("exchange", "Write a cell for another program."),
    "check": ("check", "Check a cell file."),
    "warm": ("warm", "Compile kernels and make sphere models ahead."),
    "doctor": ("doctor", "Examine the installation and the running nodes."),
    "keystore": ("keystore", "Make keys and permissions for ROS 2 with security."),
    "fk": ("kinematics", "Print poses of frames."),
    "ik": ("kinematics", "Print configurations that reach a pose."),
    "reach": ("reach", "Print which poses of a grid a robot reaches."),
    "plan": ("plan", "Plan a motion."),
    "verify": ("plan_files", "Verify a plan."),
    "execute": ("execute", "Execute plans, in simulation or on the running nodes."),
    "reproduce": ("reproduce", "Answer the request of a case file again."),
    "view": ("plan_files", "Write a page that shows a cell or a plan."),
    "bench": ("bench", "Measure the speed of the library for a cell."),
    "rpc": ("rpc", "Answer JSON-RPC requests, or replay a log of them."),
    "call": ("graph", "Call a service of the running nodes."),
    "echo": ("graph", "Print the messages of a topic."),
    "describe": ("graph", "Print what the running nodes offer, or an interface."),
    "record": ("record", "Record the topics of the running nodes in a bag."),
    "replay": ("replay", "Give the requests of a bag to another system, and compare."),
}


class LazyGroup(click.Group):
    """Imports the module of a command when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name, or None."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = imported(f"{__package__}.{COMMANDS[cmd_name][0]}", name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing their modules."""
        own = [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, text) for name, (_, text) in COMMANDS.items())])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="robot_cell")
def commands() -> None:
    """Robot cells: draft one from a robot description, check it, plan in it, and start its nodes.

    `robot_cell up cell.yaml` starts the nodes, and `robot_cell up cell.yaml -- client` also the client. With an option
    first, `up` is meant.
    """


@commands.command("up")
def up() -> None:
    """Start the nodes of a cell, and end them together."""
