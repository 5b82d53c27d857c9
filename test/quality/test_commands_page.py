"""docs/command_line.md agrees with the declarations of the commands."""

import importlib.util

from sources import ROOT


def test_the_page_of_commands_is_current():
    spec = importlib.util.spec_from_file_location("describe_commands", ROOT / "tools" / "describe_commands.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    assert found == script.document(), "run `tools/with_environment python tools/describe_commands.py`"
