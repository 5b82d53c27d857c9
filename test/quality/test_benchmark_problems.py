"""Files of planning problems that the benchmarks read, and the table of runs that they write."""

import csv
import json

import pytest

from benchmarks.planning import Row, measure, write_runs
from benchmarks.planning_problems import read_problems
from robot_cell_planner.model.geometry import Sphere

LINKS = "".join(
    f"""<link name="l{i}"><collision><origin xyz="0 0 0.2"/><geometry><box size="0.05 0.05 0.4"/></geometry></collision>
</link>""" for i in range(3)
)  # fmt: skip
JOINTS = "".join(
    f"""<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 {0.45 * i}"/>
<axis xyz="0 1 0"/><limit lower="-2.5" upper="2.5" velocity="1" effort="1"/></joint>""" for i in range(2)
)  # fmt: skip
SRDF = """<robot name="arm"><group name="both"><chain base_link="l0" tip_link="l2"/></group>
<disable_collisions link1="l0" link2="l1"/><disable_collisions link1="l1" link2="l2"/>
<disable_collisions link1="l0" link2="l2"/></robot>"""
OBSTACLE = {"type": "sphere", "position": [0.6, 0.0, 0.6], "radius": 0.1}


@pytest.fixture
def file(tmp_path):
    """Returns a function that writes a file of two problems, changed by `change(data)`."""
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{LINKS}{JOINTS}</robot>')
    (tmp_path / "arm.srdf").write_text(SRDF)
    problem = {"scene": "sphere", "start": [0.2, 0.2], "goals": [[2.2, 0.1]], "obstacles": [OBSTACLE]}

    def written(change=lambda data: None):
        data = json.loads(json.dumps({
            "robot": {"urdf": "arm.urdf", "srdf": "arm.srdf", "group": "both"}, "joints": ["j0", "j1"],
            "problems": [{**problem, "index": index} for index in range(2)],
        }))  # fmt: skip
        change(data)
        path = tmp_path / "problems.json"
        path.write_text(json.dumps(data))
        return path

    return written


MISTAKES = {
    "no goals": (lambda data: data["problems"][1].pop("goals"), r"required field `goals` - at `\$.problems\[1\]`"),
    "one goal": (lambda data: data["problems"][1].update(goals=[1.0, 2.0]), r"got `float` - at .*\[1\].goals\[0\]"),
    "short start": (lambda data: data["problems"][1]["start"].pop(), r"problem 1 \(sphere 1\): the start has 1 values"),
    "long goal": (lambda data: data["problems"][1]["goals"][0].append(0.0), r"problem 1 .*: goal 0 has 3 values"),
    "joint": (lambda data: data.update(joints=["j0", "J1"]), "joint 'J1' does not exist; nearest: j1"),
    "group": (lambda data: data["robot"].update(group="arm"), "group 'arm' does not exist; there is only both"),
    "robot": (lambda data: data["robot"].update(urdf="a.urdf"), "No such file or directory; nearest: arm.urdf"),
    "size": (lambda data: data["problems"][0]["obstacles"][0].pop("radius"), r"problem 0 \(sphere 0\): .*radius"),
    "kind": (lambda data: data["problems"][0]["obstacles"][0].update(type="mesh"), "Invalid enum value 'mesh'"),
}


@pytest.mark.parametrize(("change", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_file_of_problems_is_named_with_its_place(file, change, text):
    path = file(change)
    with pytest.raises(SystemExit, match=rf"{path}: .*{text}"):
        read_problems(path)


def test_joints_in_another_order_than_in_their_group_make_the_same_problem(file):
    def reversed_joints(data):
        data["joints"].reverse()
        for entry in data["problems"]:
            for values in (entry["start"], *entry["goals"]):
                values.reverse()

    def other_start(data):
        data["problems"][0]["start"] = [0.3, 0.2]

    def both(data):
        other_start(data)
        reversed_joints(data)

    first, second = (read_problems(file(change))[0] for change in (other_start, both))
    assert first.joints == second.joints == ("j0", "j1")
    assert first.start == second.start == (0.3, 0.2)
    assert first.goals == second.goals


def test_runs_are_a_table_that_is_the_same_for_equal_seeds_except_for_times(file, tmp_path):
    problems = read_problems(file())
    assert problems[0].cell.bodies["obstacle0"].collisions[0].geometry == Sphere(0.1)
    tables = []
    for number in range(2):
        found = measure(problems, 2, "RRTConnect", ())
        path = tmp_path / f"{number}.csv"
        write_runs(path, [row for runs in found.values() for row in runs.rows])
        with path.open(encoding="utf-8", newline="") as opened:
            tables.append([{**row, "total_ms": row["total_ms"] != ""} for row in csv.DictReader(opened)])
    first, second = tables
    assert first == second
    assert list(first[0]) == list(Row._fields)
    runs = [(row["planner"], row["problem"], row["seed"], row["solved"]) for row in first]
    assert runs == [("RRTConnect", f"sphere {index}", str(seed), "True") for index in range(2) for seed in range(2)]
