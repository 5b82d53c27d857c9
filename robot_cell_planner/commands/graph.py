"""Declarations of `robot_cell call`, `echo` and `describe`, and the options of commands for running nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .deferred import deferred
from .numbers import FiniteRange
from .options import domain_option
from .reporting import json_option

MAX_TIMEOUT = 86_400.0  # [s]


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the domain and namespace of the nodes."""
    for option in (
        click.option(
            "--timeout",
            type=FiniteRange(0.0, MAX_TIMEOUT),
            default=10.0,
            show_default=True,
            help="Time to wait for what is named [s].",
        ),
        domain_option,
        click.option("--namespace", default="", help="Namespace of the nodes."),
    ):
        command = option(command)
    return command


@click.command()
@json_option
@click.argument("service")
@click.argument("request", default="{}")
@graph_options
@deferred
def call(**options: object) -> None:
    """Call SERVICE with REQUEST, a YAML mapping of its fields, and print the reply.

    An error report in the reply is printed as an error, with the exit status 1. A reply without one that is not
    successful, such as of set_parameters, has this status, too.

    robot_cell call scene/apply_changes '{changes: [{operation: 7, name: post}]}'
    """


@click.command()
@json_option
@click.argument("topic")
@click.option("--count", type=click.IntRange(1), help="End after as many messages.")
@graph_options
@deferred
def echo(**options: object) -> None:
    """Print the messages of TOPIC, also those that its publishers keep."""


@click.command()
@json_option
@click.argument("name", default="")
@graph_options
@deferred
def describe(**options: object) -> None:
    """Print what the running nodes offer, or the definition of NAME with its comments.

    NAME is a service, an action, a topic, an interface such as robot_cell_planner/srv/GetCell, or a node: its
    parameters are printed with their values, ranges and descriptions. They are set by the service of the node:

    robot_cell call planning_node/set_parameters '{parameters: [{name: time_limit, value: {type: 3, double_value: 5}}]}'
    """
