"""Tables of options in docs/ list all options of the library and parameters of the nodes, with their defaults."""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import Enum
from importlib import import_module

import pytest
from sources import ROOT

from robot_cell_planner import (
    CartesianImpedance,
    CartesianOptions,
    ComputedTorque,
    GravityCompensation,
    JointImpedance,
    PidControl,
    PlanningOptions,
    TimingOptions,
    VelocityControl,
)
from robot_cell_planner.nodes.common.start import MODULES, NODES

NAME = re.compile(r"`([\w.]+)`")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
CONTROLLERS = (PidControl, VelocityControl, GravityCompensation, ComputedTorque, JointImpedance, CartesianImpedance)
WORDS = {"on": True, "true": True, "off": False, "false": False, "none": None, "empty": ""}


def rows(page, head):
    """The cells of the first table of a page below a head."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n{head}\n")
    assert found, f"{page}.md has no table with the head {head}"
    table = rest.split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1:]]


def documented(table):
    """Defaults by option, as text; of several options in a row, one each or one for all."""
    found = {}
    for names, cell, *_ in table:
        options, defaults = NAME.findall(names), cell.split(";")[0].split(", ")
        defaults = defaults * len(options) if len(defaults) == 1 else defaults
        assert len(options) == len(defaults), names
        found |= dict(zip(options, defaults, strict=True))
    return found


def is_default(text, value):
    """Whether the text of a table is a default."""
    text = text.strip().strip("`")
    if isinstance(value, Enum):
        return text.lower() == str(value.value).replace("_", " ") or text == value.name
    if isinstance(value, bool) or text in ("on", "off", "true", "false"):
        return WORDS.get(text) is value
    if text == "none":
        return value is None or value == 0.0 or (isinstance(value, (Mapping, list)) and not any(value))
    if isinstance(value, str):
        return value == WORDS.get(text, text)
    number = math.pi / 2 if text.startswith("pi/2") else NUMBER.match(text)
    return bool(number) and value == (number if isinstance(number, float) else float(number[0].replace(",", "")))


def defaults_of(kind):
    """Defaults by field of a class of options."""
    return {field.name: value_of(field) for field in fields(kind)}


def value_of(field):
    return field.default if field.default is not MISSING else field.default_factory()


@pytest.mark.parametrize(
    ("page", "head", "kind"),
    [
        ("planning", "| Option | Default | |\n|---|---|---|\n| `planner`", PlanningOptions),
        ("planning", "| Option | Default | |\n|---|---|---|\n| `method`", TimingOptions),
        ("cartesian", "| option | default | |\n|---|---|---|\n| `strategy`", CartesianOptions),
    ],
)
def test_options_are_listed_with_their_defaults(page, head, kind):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    start = text.index(head) + head.rindex("\n") + 1
    table = [row.strip("|").split("|") for row in text[start:].split("\n\n")[0].splitlines()]
    found, expected = documented(table), defaults_of(kind)
    assert set(found) == set(expected)
    assert {name: text for name, text in found.items() if not is_default(text, expected[name])} == {}


def test_settings_of_controllers_are_listed_with_their_defaults():
    found, name = {}, ""
    for title, settings, defaults, _ in rows("simulation", "| Type | Setting | Default | |"):
        name = NAME.findall(title)[-1] if title else name
        found[name] = found.get(name, {}) | documented([(settings, defaults)])
    assert set(found) == {kind.__name__ for kind in CONTROLLERS}
    for kind in CONTROLLERS:
        expected = dict(zip(kind.__struct_fields__, kind.__struct_defaults__, strict=True))
        assert set(found[kind.__name__]) == set(expected)
        for setting, value in expected.items():
            assert is_default(found[kind.__name__][setting], value), setting


def test_parameters_of_the_execution_node_have_their_defaults():
    """The page lists those that it explains; docs/parameters.md has all."""
    declared = import_module(f"{NODES}.{MODULES['execution_node']}").PARAMETERS
    defaults = {parameter.name: parameter.default for parameter in declared}
    in_words = {"joints", "controller_actions", "motion_modes", "command_fields"}
    for names, cell, _ in rows("execution", "| Parameter | Default | Meaning |"):
        found = documented([(names, cell)])
        for name in set(found) - in_words:
            assert is_default(found[name], defaults[name]), name
        assert set(found) <= set(defaults)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("1,000,000", 1_000_000, True),
        ("0.01 m", 0.01, True),
        ("0.02 m", 0.01, False),
        ("pi/2 rad", math.pi / 2, True),
        ("on", True, True),
        ("on", False, False),
        ("none", None, True),
        ("none", 1.0, False),
        ("coal", "bullet", False),
    ],
)
def test_a_default_is_read(text, value, expected):
    assert is_default(text, value) == expected
