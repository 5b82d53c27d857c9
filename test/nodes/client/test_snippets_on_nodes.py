"""Blocks of docs/execution.md, servo.md, records.md and command_line.md, in one session of the nodes."""

import subprocess
import sys

import pytest
from running import DEMO, ROOT
from snippets import snippet

pytestmark = pytest.mark.alone
HIDE = "{changes: [{operation: 7, name: post}]}"  # the example of `robot_cell call --help`
RUN = "import subprocess\nfor words in {!r}:\n    subprocess.run(words, check=True)\n"


def test_blocks_of_clients_and_of_records(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The page lists the events of a service, which has to be called before.
    commands = [words for words, _ in snippet("command_line", "bash", 1).commands]
    commands.append(["robot_cell", "call", "scene/apply_changes", HIDE, "--timeout", "60"])
    blocks = [snippet("execution", "python").text, snippet("servo", "python").text]
    (tmp_path / "client.py").write_text("\n".join([*blocks, RUN.format(commands)]))
    default = (ROOT / "config" / "parameters.yaml").read_text()
    (tmp_path / "parameters.yaml").write_text(f"{default}\n{snippet('records', 'yaml').text}")
    command = ["robot_cell", "--cell", str(DEMO), "--params", "parameters.yaml", "--record", "my_bag"]
    done = subprocess.run(
        [*command, "--", sys.executable, "client.py"], capture_output=True, text=True, check=False, timeout=580
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "home.json").is_file()
    exec(compile(snippet("records", "python").text, "records.md", "exec"), {})
    assert "SceneChange" in capsys.readouterr().out
