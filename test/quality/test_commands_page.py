"""docs/command_line.md agrees with the declarations of the commands and of the launch files."""

import ast
import importlib.util

import pytest
from sources import ROOT


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("describe_commands", ROOT / "tools" / "describe_commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_current(script):
    found = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    assert found == script.document(), "run `tools/with_environment python tools/describe_commands.py`"


def test_every_launch_file_is_described(script):
    assert set(script.LAUNCH_FILES) == {path.name for path in (ROOT / "launch").iterdir() if path.suffix == ".py"}


def test_arguments_of_a_launch_file_are_read(script):
    text = """
config = PathJoinSubstitution([FindPackageShare(PACKAGE), "config"])
arguments = [
    DeclareLaunchArgument("cell", default_value=PathJoinSubstitution([config, "demo", "cell.yaml"]), description="a"),
    DeclareLaunchArgument("prefix", default_value="", description="b" "c"),
    DeclareLaunchArgument("on", default_value="true", choices=["true", "false"], description="d"),
    DeclareLaunchArgument("file", default_value=PathJoinSubstitution([config, FILES.get(name)]), description="e"),
]
"""
    assert list(script.launch_arguments(ast.parse(text))) == [
        ("cell", "`config/demo/cell.yaml`", "a"),
        ("prefix", "", "bc"),
        ("on", "`true`", "d"),
        ("file", "", "e"),
    ]
