"""Runs the measurement of each description in a process of its own, and prints a table."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 900  # of one description
SECONDS_PER_STATE = 2e-3  # more, for the states of the check of pairs
ENDINGS = (".urdf", ".xacro")
COLUMNS = ("free states", "ik", "plans")


def main() -> int:
    """Measure all; the exit status is 0 if no description failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.descriptions", description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path, help="folder, description, or list of descriptions")
    parser.add_argument("--json", type=Path, help="file for all figures; descriptions that it has are not repeated")
    parser.add_argument(
        "--pairs", type=int, default=0, metavar="STATES", help="check the disabled pairs at random states"
    )
    parser.add_argument("--only-pairs", action="store_true", help="nothing else")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="max time of a description [s]")
    given = parser.parse_args()
    results = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    known = [result["words"] for result in results]
    print(PAIRS_HEADER if given.only_pairs else HEADER, flush=True)
    for words in (words for source in given.sources for words in descriptions(source)):
        if words in known:
            continue
        results.append(measured(words, given))
        print((pairs_row if given.only_pairs else row)(results[-1]), flush=True)
        if given.json:
            given.json.write_text(json.dumps(results, indent=1))
    if given.pairs:
        disabled = sum(len(result.get("needed pairs", ())) for result in results)
        print(f"\nneeded pairs that are disabled: {disabled}")
    if given.only_pairs:
        return 0 if not disabled and not any("failed" in result for result in results) else 1
    good = sum(is_good(result) for result in results)
    free = sum(bool(result.get("home free")) for result in results)
    print(f"\nno edit: {good} of {len(results)}; home free: {free} of {len(results)}")
    return 0 if good == len(results) else 1


def descriptions(source: Path):
    """The descriptions of a source, each with its xacro arguments."""
    if source.is_dir():
        for path in sorted(path for ending in ENDINGS for path in source.rglob(f"*{ending}")):
            yield [str(path)]
    elif source.suffix in ENDINGS:
        yield [str(source)]
    else:
        for text in source.read_text(encoding="utf-8").splitlines():
            if text.strip() and not text.startswith("#"):
                first, *rest = text.split()
                yield [str((source.parent / first).resolve()), *(_resolved(word, source.parent) for word in rest)]


def _resolved(word, folder):
    """A word of a list, with the path of a root relative to the list made absolute."""
    option, separator, path = word.partition("--root=")
    return f"--root={(folder / path).resolve()}" if separator and not option else word


def measured(words, given):
    """The figures of one description, with a cache of meshes and spheres of its own that is empty at first."""
    options = [f"--pairs={given.pairs}", *(["--only-pairs"] if given.only_pairs else [])]
    seconds = given.seconds + SECONDS_PER_STATE * given.pairs
    with tempfile.TemporaryDirectory(prefix="description-") as folder:
        environment = {**os.environ, "ROBOT_CELL_PLANNER_CACHE": f"{folder}/cache"}
        cell = f"{folder}/cell"
        found = {"words": words, **in_process([cell, *words, *options], seconds, environment)}
        if found.get("executed"):
            roots = [word for word in words if word.startswith("--root")]
            found |= in_process([cell, *roots], seconds, environment)
    return found


def in_process(words, seconds, environment):
    """The output of a process of `measure`."""
    command = [sys.executable, "-m", "benchmarks.descriptions.measure", f"--begin={time.monotonic()}", *words]
    description = {"description": words[1] if len(words) > 1 else ""}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
    except subprocess.TimeoutExpired:
        return description | {"failed": f"did not end within {seconds:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return description | {"failed": f"exit status {done.returncode}: {last}"[:400]}
    return json.loads(lines[-1])


def is_good(result):
    """Whether a description plans, follows a line and moves without an edit."""
    return bool(
        "failed" not in result
        and not result["errors"]
        and result["arm"]
        and result["plans"] >= 0.9 * result["free states"] > 0
        and result["executed"]
        and result["same when loaded"]
        and not result["check errors"]
    )


HEADER = (
    "| description | groups | edits | warnings | home free | needed | IK | plans | line | executed, error "
    "| new s (cpu) | first plan s (cpu) | other plans s (cpu) | first motion s (cpu) | second motion s (cpu) |\n"
    + 15 * "|---"
    + "|"
)


def times(result, what):
    """Wall time and processor time of a step [s]."""
    return f"{result.get(f'{what} s', math.nan):.1f} ({result.get(f'{what} cpu s', math.nan):.1f})"


def first_motion(result):
    """Wall time and processor time from the description to the end of the first motion [s]."""
    steps = ("start-up", "new", "first plan", "execution")
    return {
        f"first motion {kind}": sum(result.get(f"{step} {kind}", math.nan) for step in steps) for kind in ("s", "cpu s")
    }


def needed(result):
    """Number of needed pairs that are disabled, if it was counted."""
    return len(result["needed pairs"]) if "needed pairs" in result else ""


def row(result):
    """One line of the table."""
    name = Path(result["description"]).name
    if "failed" in result:
        return f"| {name} | failed: {result['failed']} |"
    groups = ", ".join(f"{group} {count}" for group, count in result["groups"].items())
    edits = "0" if is_good(result) else "needed"
    if not result["arm"]:
        return f"| {name} | {groups} | no arm |"
    of = result["free states"]
    return (
        f"| {name} | {groups} | {edits} | {result['warnings']} "
        f"| {'yes' if result['home free'] else 'NO'} | {needed(result)} | {result['ik']}/{of} | {result['plans']}/{of} "
        f"| {'yes' if result['line'] else 'NO'} "
        f"| {'yes' if result['executed'] else 'NO'} {result.get('execution error', math.nan):.0e} "
        f"| {times(result, 'new')} | {times(result, 'first plan')} | {times(result, 'plans')} "
        f"| {times(first_motion(result), 'first motion')} | {times(result, 'again')} |"
    )


PAIRS_HEADER = "| description | never | needed | in s |\n|---|---|---|---|"


def pairs_row(result):
    """One line of the table of disabled pairs."""
    name = Path(result["description"]).name
    if "failed" in result:
        return f"| {name} | failed: {result['failed']} |"
    pairs = ", ".join(f"{pair} ({entry[0]})" for pair, entry in result["needed pairs"].items()) or "none"
    return f"| {name} | {result['never pairs']} | {pairs} | {result['pairs s']:.0f} |"
