"""YAML: numbers to the last bit, bounds, and lines of errors."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from robot_cell_planner.errors import FileError, LimitExceededError
from robot_cell_planner.io.common.serialisation import dump_yaml
from robot_cell_planner.io.common.yaml_reader import line_of, parse_yaml


def read(text):
    return parse_yaml(text, "file.yaml", "test")


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.sampled_from(
    [
        "1e5",
        "1e-3",
        "+.5",
        "0x10",
        "1:30",
        "yes",
        "on",
        "null",
        "~",
        "",
        "true",
        ".inf",
        "-",
        "1_000",
        "=",
        "<<",
        "2026-01-01",
        "!degrees 5",
        "*a",
        "&a",
        "# no",
        "a: b",
        "- a",
        "'",
        '"',
        "0o7",
        "NaN",
        ".nan",
        "line\nbreak",
        " \n x",
        "tab\t\n",
    ]
)
scalars = texts | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.booleans() | st.none()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


def bits(value):
    """The value with floats as their exact text, so that 0.0 and -0.0, or 1 and 1.0, differ."""
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bits(item) for item in value]
    return (type(value).__name__, value.hex() if isinstance(value, float) else value)


@given(values)
def test_values_are_read_back_to_the_last_bit(value):
    assert bits(read(dump_yaml({"value": value}))) == bits({"value": value})


@given(values)
def test_json_is_yaml(value):
    import msgspec

    if "inf" not in repr(value):
        assert bits(read(msgspec.json.encode({"value": value}).decode())) == bits({"value": value})


@given(st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False) | st.booleans(), max_size=4))
def test_other_yaml_parsers_agree(value):
    assert bits(yaml.safe_load(dump_yaml(value))) == bits(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-1.5e+2", -150.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("7", 7),
        ("-7", -7),
        ("007", 7),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("'1e-3'", "1e-3"),
        ('"7"', "7"),
        ("on", "on"),
        ("yes", "yes"),
        ("True", True),
        ("false", False),
        ("~", None),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("!!float 3", 3.0),
        ("!!str 3", "3"),
        ("! 3", "3"),
        ("!degrees 180", math.pi),
        ("!radians 2", 2.0),
        ("!degrees 1e1", math.radians(10)),
        ("", None),
        ("2026-01-01", "2026-01-01"),
        ("e5", "e5"),
    ],
)
def test_scalars(text, value):
    assert bits(read(text)) == bits(value)


def test_keys_are_text():
    assert read("1: a\ntrue: b\n1.50: c") == {"1": "a", "true": "b", "1.50": "c"}


def test_aliases_and_merges():
    text = "base: &b {x: 1, y: 2}\nother: {y: 3, <<: *b}\nlate: {<<: [*b, {z: 9}], x: 5}\nlist: [*b]"
    assert read(text) == {
        "base": {"x": 1, "y": 2},
        "other": {"x": 1, "y": 3},
        "late": {"x": 5, "y": 2, "z": 9},
        "list": [{"x": 1, "y": 2}],
    }


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a: 1\nb: [1, 2", 3, "not well-formed"),
        ("a: 1\n\tb: 2", 2, "not well-formed"),
        ("a: 1\na: 2", 2, "'a' twice"),
        ("a: !!python/object:os.system x", 1, "tag"),
        ("a: 1\nb: !!python/name:x []", 2, "tag"),
        ("b: !own {}", 1, "tag"),
        ("a: !!int x", 1, "expected what its tag"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("a: *b", 1, "alias"),
        ("[a]: 1", 1, "as key"),
        ("{a: 1}: 1", 1, "as key"),
        ("a: &b 1\n*b : 2", 2, "as key"),
        ("a: !degrees x", 1, "number"),
        ("x: 1\n<<: 5", 2, "mapping"),
        ("%YAML 9.9\n---\na: 1", 1, "not well-formed"),
        ("a: \x01", 1, "not well-formed"),
        ('{"a": 1,\n"a": 2}', 2, "twice"),
        ("a: &a [*a]", 1, "alias"),
        ("!!float nan", 1, "tag"),
    ],
)
def test_malformed_text_is_refused_with_its_line(text, line, expected):
    with pytest.raises(FileError) as caught:
        read(text)
    assert caught.value.message.startswith(f"file.yaml:{line}: ")
    assert expected in caught.value.message


BOMBS = {
    "laughs": "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    + "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)),
    "lists": "[" * 2000 + "]" * 2000,
    "mappings": "{a: " * 2000 + "}" * 2000,
    "json": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "blocks": "\n".join(" " * i + "a:" for i in range(2000)),
}


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: 2\na: [3]\n", 3), ('{"a": 1, "b": 2,\n"a": [3]}', 2), ("b: 2\na: {a: 1, a: 2}\na: [3]", 2)],
)
def test_of_duplicate_keys_the_last_counts_and_each_is_noted_where_they_are_allowed(text, line):
    notes = []
    assert parse_yaml(text, "file", "stage", notes) == {"a": [3], "b": 2} == yaml.safe_load(text)
    assert notes[0] == f"file:{line}: has the key 'a' twice; the last one is used"


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused(bomb):
    with pytest.raises((LimitExceededError, FileError)):
        read(BOMBS[bomb])


def test_endless_text_is_refused():
    with pytest.raises(LimitExceededError):
        read("a: " + "x" * 40_000_000)


def test_very_long_numbers_are_infinite():
    assert read("1" * 5000) == math.inf
    assert read('{"a": ' + "1" * 5000 + "}") == {"a": math.inf}


TEXT = """a: 1
b:
  c: [1,
      2]
  d:
    - x: 1
      y: 2
    - &n {x: 3}
    - *n
e: {f: {g: 1}, h: 2}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("a",), 1),
        (("b",), 2),
        (("b", "c", 1), 4),
        (("b", "d"), 5),
        (("b", "d", 0, "y"), 7),
        (("b", "d", 1, "x"), 8),
        (("b", "d", 2), 9),
        (("e", "h"), 10),
        (("e", "f", "g"), 10),
        (("b", "none"), 2),
        (("none",), 1),
        (("b", "d", 0, "none"), 6),
    ],
)
def test_line_of_a_value(path, line):
    assert line_of(TEXT, path) == line
