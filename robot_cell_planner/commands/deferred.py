"""Commands whose work is imported when they run: help, completion and refused options need no library.

A command is declared in `commands/MODULE.py`: its options, their forms, and what its help says. The function of the
same name in `commands/actions/MODULE.py` does the work, and may import the library, which takes a second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

import click

from .inputs import check_inputs
from .reporting import import_failure

Declaration: TypeAlias = Callable[..., None]
ACTIONS = "actions"


def deferred(declaration: Declaration) -> Callable[..., int]:
    """Return the callback of a command from its declaration.

    declaration: Checks the options against each other, without the library; may have no body besides its docstring,
    the help. The files that the command line names have to exist, see `InputPath`. Then the action is called with the
    same values, and returns the exit status.
    """

    @functools.wraps(declaration)
    def run(**values: Any) -> int:
        declaration(**values)
        check_inputs(click.get_current_context())
        status: int = action_of(declaration)(**values)
        return status

    return run


def action_of(declaration: Declaration) -> Callable[..., int]:
    """Return the function that does what a command is declared to do, and import its module.

    Raises:
        NotSupportedError: It needs a library that is not installed.
        InternalError: Its module, or a part of it, is missing.
    """
    package, _, module = declaration.__module__.rpartition(".")
    action: Callable[..., int] = imported(f"{package}.{ACTIONS}.{module}", declaration.__name__)
    return action


def imported(module: str, name: str) -> Any:
    """Return an attribute of a module, which is imported.

    Raises:
        NotSupportedError: It needs a library that is not installed.
        InternalError: The module, or a part of it, is missing.
    """
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise import_failure(f"{name.rstrip('_')} needs libraries", error) from error
