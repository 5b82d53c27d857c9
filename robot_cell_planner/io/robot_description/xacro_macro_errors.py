"""Errors of calls of macros in xacro files, with the names that exist; part of the worker program `xacro_worker`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import xacro

from ...model.name_suggestions import unknown_name

UNKNOWN_MACRO = re.compile(r"unknown macro name: xacro:(\S+)")
UNKNOWN_PARAMETER = re.compile(r'Invalid parameter "([^"]*)"')
# Errors of xacro about a call that does not fit its macro.
MISFITS = re.compile(
    rf'{UNKNOWN_MACRO.pattern}|{UNKNOWN_PARAMETER.pattern}|Undefined parameters \[|Not enough blocks|Unused block "'
)


def keep_macro_names() -> None:
    """Let errors of calls of macros keep the names of all macros that exist there, as an attribute `macro_names`."""
    call = xacro.handle_macro_call

    def call_with_names(node: Any, macros: Any, symbols: Any) -> bool:
        try:
            return bool(call(node, macros, symbols))
        except xacro.XacroException as error:
            if not hasattr(error, "macro_names"):  # the innermost call failed
                error.macro_names = sorted(set(_names(macros)))
            raise

    xacro.handle_macro_call = call_with_names


def _names(macros: Any) -> Iterator[str]:
    """Yield the names of the macros of a table and of those around it, with their namespaces."""
    while isinstance(macros, dict):
        for name, macro in macros.items():
            if isinstance(macro, dict):
                yield from (f"{name}.{inner}" for inner in macro)
            else:
                yield str(name)
        macros = getattr(macros, "parent", None)


def is_misfit(error: BaseException) -> bool:
    """Return whether an error is that of a call that does not fit its macro."""
    return MISFITS.match(str(error)) is not None


def with_existing_names(text: str, error: BaseException) -> str:
    """Return the text of an error with the nearest macros in place of an unknown one, parameters likewise."""
    if unknown := UNKNOWN_MACRO.match(text):
        names = getattr(error, "macro_names", ())
        return unknown_name(f"macro {unknown[1]!r}", unknown[1], names) + text[unknown.end() :]
    if (surplus := UNKNOWN_PARAMETER.match(text)) and (macros := [macro for macro in _macros(error) if macro]):
        parameter = f"parameter {surplus[1]!r} of macro {_macro_name(macros[0])}"
        return unknown_name(parameter, surplus[1], (str(name).lstrip("*") for name in macros[0].params))
    return text


def caller(error: BaseException) -> str:
    """Return in which calls of macros an error occurred, innermost first; empty if in none."""
    names = [_macro_name(macro) for macro in _macros(error) if macro]
    return f" (in a call of macro {' in '.join(names)})" if names else ""


def _macros(error: BaseException) -> list[Any]:
    return list(getattr(error, "macros", []))


def _macro_name(macro: Any) -> str:
    return str(macro.body.getAttribute("name"))
