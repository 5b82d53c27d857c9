"""Comments of interface fields: the parameters that they name are those of a node that takes the type, numbers are
those of the library, and fields of other types exist."""

import re
from importlib import import_module

import pytest
from sources import ROOT, SECTIONS

from robot_cell_planner.collision.certification.certificate import FINE
from robot_cell_planner.kinematics.ik.options import IkOptions
from robot_cell_planner.nodes.common.start import MODULES, NODES
from robot_cell_planner.planning import CartesianOptions, PlanningOptions
from robot_cell_planner.planning.problem.constraints import COMBINATION_TOLERANCE, FRAME_TOLERANCE
from robot_cell_planner.trajectory import TimingOptions

FILES = {path.stem: path for kind in ("msg", "srv", "action") for path in sorted((ROOT / kind).iterdir())}
DOCUMENT = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
OWN_TYPE = re.compile(r"^robot_cell_planner/(\w+)", re.MULTILINE)
PARAMETER = re.compile(r"the node's\s+parameter `(\w+)`")
SELECTED_BY_ZERO = {"resolution", "blend_tolerance"}  # whose defaults their comments name
REFERENCE = re.compile(r"\b([A-Z]\w+)\.(\w+)")
FIELD = re.compile(r"^[a-zA-Z][\w/]*(?:\[\d*\])? (\w+)", re.MULTILINE)
UNNAMED = re.compile(r"the node's (?:own )?(?:default|limit)")


def text_of(name):
    """The text of an interface, with comments that go on in the next line joined."""
    return FILES[name].read_text(encoding="utf-8").replace("\n# ", " ")


def parts(name):
    """A type and those that it contains."""
    found, left = set(), [name]
    while left:
        if (part := left.pop()) not in found:
            found.add(part)
            left += OWN_TYPE.findall(text_of(part))
    return found


def nodes_by_type():
    """Nodes that offer a service or action with a type in it, from the tables of docs/interfaces.md."""
    found = {}
    for section in DOCUMENT.split("\n## ")[1:]:
        node = SECTIONS.get(section.splitlines()[0])
        for kind in re.findall(r"^\| `[^`]+` \| (?:service|action) \| (\w+) \|", section, re.MULTILINE) if node else ():
            for part in parts(kind):
                found.setdefault(part, set()).add(node)
    return found


def parameters_of(node):
    return {parameter.name for parameter in import_module(f"{NODES}.{MODULES[node]}").PARAMETERS}


def foreign_parameters(name, text, nodes):
    """Parameters in the comments of a type that no node with this type has."""
    declared = set().union(*map(parameters_of, nodes))
    return [f"{name}: {parameter}" for parameter in PARAMETER.findall(text) if parameter not in declared]


def test_defaults_are_named():
    """A reader learns which parameter a default is, and can look it up in docs/parameters.md."""
    assert [name for name in FILES if UNNAMED.search(text_of(name))] == []
    assert sum(len(PARAMETER.findall(text_of(name))) for name in FILES) > 20


def test_named_parameters_are_those_of_a_node_that_takes_the_type():
    nodes = nodes_by_type()
    assert nodes["CertifyMotion"] == {"collision_node"}
    wrong = [entry for name in FILES for entry in foreign_parameters(name, text_of(name), nodes.get(name, set()))]
    assert wrong == []


def unused_fields(text, sources):
    """Fields that no source reads or sets."""
    fields = re.findall(r"^[a-zA-Z][\w/]*(?:\[\d*\])? (\w+)(?: [^=\n]+)?$", text, re.MULTILINE)
    uses = r"\.{0}\b|\b{0}=|\"{0}\""
    return [name for name in fields if not re.search(uses.format(name), sources)]


def test_every_field_is_read_or_set():
    """A field that nothing serves would promise what no node keeps."""
    nodes = (ROOT / "robot_cell_planner" / "nodes").rglob("*.py")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in nodes)
    assert {name: found for name in FILES if (found := unused_fields(text_of(name), sources))} == {}


def test_an_unused_field_is_found():
    text = "# A.\nfloat64 a\n# B.\nfloat64 b 1.0\n# D.\nuint8 D=1\n"
    assert unused_fields(text, "message.a") == ["b"]


def unknown_fields(text):
    """References such as `Target.pose` in comments to fields or constants that the type does not have."""
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    references = [(kind, name) for kind, name in REFERENCE.findall(comments) if kind in FILES]
    return [f"{kind}.{name}" for kind, name in references if name not in FIELD.findall(text_of(kind))]


def test_fields_that_comments_name_exist():
    wrong = {name: found for name, path in FILES.items() if (found := unknown_fields(path.read_text(encoding="utf-8")))}
    assert wrong == {}


def test_an_unknown_field_is_found():
    text = "# As IkResult.solutions, Geometry.HULL and IkResult.joint_names.\nfloat64 x"
    assert unknown_fields(text) == ["IkResult.joint_names"]


@pytest.mark.parametrize("kind", [PlanningOptions, CartesianOptions, TimingOptions], ids=lambda kind: kind.__name__)
def test_initial_values_of_fields_are_the_defaults_of_the_library(kind):
    """Of fields that both have. A field without a value is 0, which is the default, or selects it by its comment."""
    text = FILES[kind.__name__].read_text(encoding="utf-8")
    values = dict(re.findall(r"^(?:bool|float64) (\w+)(?: (\S+))?$", text, re.MULTILINE))
    default = kind()
    shared = [name for name in values if hasattr(default, name)]
    assert len(shared) > 4
    for name in shared:
        expected = getattr(default, name)
        if isinstance(expected, bool):
            assert (values[name] == "true") == expected, name
        elif values[name] or name not in SELECTED_BY_ZERO:
            assert float(values[name] or 0.0) == (expected or 0.0), name


def test_a_parameter_of_another_node_is_found():
    text = "# 0: the node's parameter `resolution`."
    assert foreign_parameters("CertifyMotion", text, {"collision_node"}) == ["CertifyMotion: resolution"]
    assert foreign_parameters("CheckPath", text, {"planning_node"}) == []


@pytest.mark.parametrize(
    ("name", "comment", "value"),
    [
        ("TimingOptions", r"at a blend, .*?; 0: ([\d.]+)\.\s", TimingOptions().blend_tolerance),
        ("CartesianOptions", r"states checked; 0: ([\d,]+)\.", CartesianOptions().state_limit),
        ("CertifyMotion", r"Smallest step to evaluate.*?0: ([\de-]+)\.", FINE),
        ("IkOptions", r"10,000; 0: (\d+)\.", IkOptions().sweep),
        ("PathConstraint", r"0: the default of ([\de-]+) for joint", COMBINATION_TOLERANCE),
        ("PathConstraint", r"for joint combinations, ([\de-]+) for the others", FRAME_TOLERANCE),
    ],
)
def test_numbers_are_those_of_the_library(name, comment, value):
    assert float(re.search(comment, text_of(name))[1].replace(",", "")) == value
