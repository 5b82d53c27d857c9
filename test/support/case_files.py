"""Case files that the planning node writes, reproduced in another process."""

import json
import subprocess
import threading
import zipfile

from running import ROOT

LOOK_AHEAD = "look_ahead"


def case_of(folder, error, tries=2000):
    """The file of the motion that ended with an error; None if there is none after the tries."""
    expected = [error.name, error.message, error.stage, list(error.subjects), [value.value for value in error.values]]

    def condition(answer):
        found = answer["error"]
        values = [value["value"] for value in found["values"]]
        return [found["name"], found["message"], found["stage"], found["subjects"], values] == expected

    return file_with(folder, "execute_trajectory", condition, tries)


def file_with(folder, method, condition, tries=2000):
    """A case of a method whose answer fulfils a condition; None if there is none after the tries."""
    pause = threading.Event()
    others = set()
    for _ in range(tries):
        for file in set(folder.glob(f"*-{method}.case")) - others:
            with zipfile.ZipFile(file) as archive:
                answer = json.loads(archive.read("case.json"))["answer"]
            if condition(answer):
                return file
            others.add(file)
        pause.wait(0.05)
    return None


def check_reproduced(file, *words):
    """Another process computes the same answer."""
    done = subprocess.run(["robot_cell", "reproduce", str(file)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in (*words, "the same answer"):
        assert word in done.stdout
