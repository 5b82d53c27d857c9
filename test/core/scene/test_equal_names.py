"""Robots, objects and composite groups of equal names are removed independently: differences, journals and undo."""

import msgspec
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import box
from support.planning_cells import gantry

from robot_cell_planner.io.common.serialisation import from_json, to_json
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.model.bodies import NamedFrame, RigidBody, Tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.mechanism import Link, Mechanism
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.robot import CompositeGroup, PlanningGroup, Robot
from robot_cell_planner.scene.diff import SceneDiff, apply_difference, difference
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import Journal
from robot_cell_planner.scene.journal_format import ChangeRecord, record_line
from robot_cell_planner.scene.model_changes import Remove
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import SetJoints

# Some names have the form of entries of a list of removals.
NAMES = ("a", "b", "robot/a", "body/a", "body/robot/a", "group/b")
laws = settings(max_examples=25, deadline=None)
OBJECTS = ("none", "tool", "body", "frame")
MECHANISM = gantry()[0].robots["gantry"].mechanism


def robot(name):
    """A gantry with the joints and links of its own."""
    links = {f"{name}:{link}": Link(f"{name}:{link}", value.visuals) for link, value in MECHANISM.links.items()}
    joints = {
        f"{name}:{joint}": msgspec.structs.replace(
            value, name=f"{name}:{joint}", parent=f"{name}:{value.parent}", child=f"{name}:{value.child}"
        )
        for joint, value in MECHANISM.joints.items()
    }
    mechanism = Mechanism(name, frozendict(links), frozendict(joints))
    variables = tuple(variable.name for variable in mechanism.variables)
    group = PlanningGroup(f"{name}:xy", variables, (), mechanism.root, f"{name}:cube")
    return Robot(name, mechanism, frozendict({group.name: group}))


@st.composite
def scenes(draw):
    """Each name may be that of a robot and of a tool, body or frame, or of a composite group of all robots."""
    robots = {name: robot(name) for name in NAMES if draw(st.booleans())}
    objects = {name: draw(st.sampled_from(OBJECTS)) for name in NAMES}
    of = {kind: [name for name, other in objects.items() if other == kind] for kind in OBJECTS}
    joined = tuple(group for value in robots.values() for group in value.groups)
    alone = [name for name in of["none"] if name not in robots and len(joined) > 1]
    composite = [name for name in alone if draw(st.booleans())]
    cell = RobotCell(
        robots=frozendict(robots),
        tools=frozendict(
            {name: Tool(name, Mechanism(name, frozendict(palm=Link("palm")), frozendict())) for name in of["tool"]}
        ),
        bodies=frozendict({name: RigidBody(name, (box(),)) for name in of["body"]}),
        frames=frozendict({name: NamedFrame(name, "world", Pose((0.0, 0.0, 1.0))) for name in of["frame"]}),
        groups=frozendict({name: CompositeGroup(name, joined) for name in composite}),
    )
    return Scene(cell, cell.default_state())


@laws
@given(scenes(), scenes())
def test_a_difference_leads_to_the_new_scene_for_all_names(old, new):
    step = difference(old, new)
    assert apply_difference(old, step) == new
    assert apply_difference(old, from_json(to_json(step), SceneDiff)) == new


@laws
@given(scenes(), st.data())
def test_a_removal_equals_its_difference(scene, data):
    names = [*scene.cell.tools, *scene.cell.bodies, *scene.cell.frames, *scene.cell.groups]
    if not names:
        return
    history = SceneHistory(world_pose)
    history.load(scene.cell, scene.state)
    change = history.apply([Remove(data.draw(st.sampled_from(names)))])
    assert len(change.difference.removed) == 1
    assert apply_difference(scene, change.difference) == history.scene


def test_names_that_are_unambiguous_are_listed_alone():
    cell, state = gantry((("wall", (0.5, 0.5), (0.1, 0.1)),))
    bare = msgspec.structs.replace(cell, bodies=frozendict())
    old, new = Scene(cell, state), Scene(bare, bare.default_state())
    assert difference(old, new).removed == ("wall",)
    same = msgspec.structs.replace(cell, bodies=frozendict(gantry=RigidBody("gantry", (box(),))))
    assert difference(Scene(same, same.default_state()), new).removed == ("body/gantry",)
    assert difference(Scene(same, same.default_state()), Scene(RobotCell(), RobotCell().default_state())).removed == (
        "body/gantry",
        "robot/gantry",
    )


def started(path):
    journal = Journal(path)
    history = SceneHistory(world_pose, journal)
    history.load(*gantry((("gantry", (0.5, 0.5), (0.1, 0.1)),)))
    history.apply([SetJoints({"x": 0.25})])
    return history, journal


def test_a_journal_keeps_the_robot_when_the_body_of_its_name_is_removed(tmp_path):
    history, journal = started(tmp_path / "scene.journal")
    history.apply([Remove("gantry")])
    history.undo()
    history.undo()
    history.apply([Remove("gantry")])
    journal.close()
    with Journal(tmp_path / "scene.journal") as again:
        assert again.restored.scene == history.scene
        assert again.restored.revision == history.revision
    assert list(history.scene.cell.robots) == ["gantry"]
    assert not history.scene.cell.bodies


@pytest.mark.parametrize("listed", [1, 2])
def test_journals_of_earlier_versions_that_list_names_alone_are_read(tmp_path, listed):
    """Earlier versions listed an equal name once for each kind that lost it."""
    path = tmp_path / "scene.journal"
    history, journal = started(path)
    journal.close()
    before = history.scene
    cell = msgspec.structs.replace(before.cell, bodies=frozendict())
    state = msgspec.structs.replace(before.state, bodies=frozendict())
    if listed == 2:
        cell, state = RobotCell(cell.name), RobotCell().default_state()
    change = SceneDiff(removed=("gantry",) * listed, models=RobotCell(cell.name))
    revision = history.revision
    with open(path, "ab") as file:
        file.write(record_line(ChangeRecord(revision, revision + 1, change, state.digest())))
    with Journal(path) as again:
        assert again.restored.scene == Scene(cell, state)
