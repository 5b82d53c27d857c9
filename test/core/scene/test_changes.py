"""Scene changes keep poses as documented and are atomic; a difference transforms one scene into the other."""

import math

import numpy as np
import pytest
from frozendict import frozendict
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import box, reference_world_pose, small_cell, small_robot

from robot_cell_planner.errors import (
    DuplicateNameError,
    FrameCycleError,
    InvalidRequestError,
    InvalidValueError,
    RobotCellError,
    UnknownNameError,
)
from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.frames import FrameTree
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.model.state import BodyState, RobotCellState
from robot_cell_planner.scene.allowed_collision_changes import SetIgnoreGroup, SetMargin
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.diff import apply_difference, difference
from robot_cell_planner.scene.model_changes import Add, AddFrame, Remove, Replace
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.scene.state_changes import Attach, Detach, Move, SetBasePose, SetHidden, SetJoints, SetTouch

CELL, STATE = small_cell()
SCENE = Scene(CELL, STATE)
HERE = Pose.from_rpy((0.3, -0.2, 0.5), (0.4, -0.1, 0.9))


def apply(scene, *changes):
    return apply_changes(scene, changes, reference_world_pose)


def world(scene, frame):
    return reference_world_pose(scene.cell, scene.state, frame)


def assert_same_place(a, b):
    distance, angle = a.distance_to(b)
    assert distance < 1e-9
    assert angle < 1e-7


@pytest.mark.parametrize("carrier", ["tip", "gripper", "gripper/finger", "gripper/tcp", "crate", "place", "upper"])
def test_a_grip_keeps_the_pose_in_the_world(carrier):
    scene = apply(SCENE, Attach("gripper", "hand", HERE), Move("part", HERE.position, HERE.quaternion))
    gripped = apply(scene, Attach("part", carrier))
    assert_same_place(world(scene, "part"), world(gripped, "part"))
    assert carrier in FrameTree(gripped.cell, gripped.state).ancestors("part")


def test_attached_objects_move_with_their_parent():
    scene = apply(SCENE, Attach("gripper", "hand", HERE), Attach("part", "gripper"))
    before = world(scene, "tip").inverse() @ world(scene, "part")
    moved = apply(scene, SetJoints({"turn": -1.0, "push": math.nan}))
    assert moved.state.configuration["push"] == scene.state.configuration["push"]
    assert_same_place(before, world(moved, "tip").inverse() @ world(moved, "part"))
    assert world(moved, "part").distance_to(world(scene, "part"))[0] > 0.1


def test_adding_models_adds_their_collision_settings_as_single_changes_do():
    before = apply(SCENE, SetIgnoreGroup("friends", ("part", "tip")), SetMargin("part", 0.01), SetMargin("*", 0.002))
    before = apply(before, SetMargin("part", 0.03, "table"))
    own = CollisionSettings(
        ignore_groups=frozendict(friends=("part", "table"), lids=("lid", "friends")),
        margins=frozendict({"lid": 0.05, "part": 0.02}),
        pair_margins=(PairMargin("table", "part", 0.04), PairMargin("lid", "table", 0.06)),
    )
    lid = frozendict(lid=RigidBody("lid", (box(),)))
    after = apply(before, Add(RobotCell(bodies=lid, collision=own)))
    single = apply(before, Add(RobotCell(bodies=lid)))
    single = apply(single, *(SetIgnoreGroup(*item) for item in own.ignore_groups.items()))
    single = apply(single, *(SetMargin(*item) for item in own.margins.items()))
    single = apply(single, *(SetMargin(pair.first, pair.margin, pair.second) for pair in own.pair_margins))
    assert after.cell.collision == single.cell.collision
    assert after.cell.collision.margins["*"] == 0.002
    wrong = CollisionSettings(margins=frozendict(led=0.1))
    with pytest.raises(UnknownNameError, match="'led'"):
        apply(before, Add(RobotCell(bodies=lid, collision=wrong)))


def test_replacing_models_takes_their_collision_settings_as_adding_does():
    before = apply(SCENE, SetIgnoreGroup("friends", ("part", "tip")), SetMargin("part", 0.01), SetMargin("*", 0.002))
    own = CollisionSettings(
        ignore_groups=frozendict(friends=("part", "table"), others=("crate", "friends")),
        margins=frozendict({"part": 0.02, "crate": 0.05}),
        pair_margins=(PairMargin("table", "part", 0.04),),
    )
    bigger = frozendict(part=RigidBody("part", (box(3.0),)))
    after = apply(before, Replace(RobotCell(bodies=bigger, collision=own)))
    assert after.cell.collision == apply(before, Add(RobotCell(collision=own))).cell.collision
    assert after.cell.bodies["part"] == bigger["part"]
    assert apply(before, Replace(RobotCell(bodies=bigger))).cell.collision == before.cell.collision
    wrong = CollisionSettings(margins=frozendict(prat=0.1))
    with pytest.raises(UnknownNameError, match="'prat'"):
        apply(before, Replace(RobotCell(bodies=bigger, collision=wrong)))


def test_detach_keeps_the_pose_in_the_world():
    scene = apply(SCENE, Attach("gripper", "hand", HERE), Attach("part", "gripper/tcp", HERE))
    free = apply(scene, Detach("part", touch_bodies=("table",)))
    assert free.state.bodies["part"].attached_to == ""
    assert free.state.bodies["part"].touch_bodies == ("table",)
    assert_same_place(world(scene, "part"), world(free, "part"))


def test_move_relative_to_a_frame_and_partly():
    moved = apply(SCENE, Move("part", (0.1, 0.2, 0.3), (0.0, 0.0, 0.0, 1.0), "camera"))
    relative = world(moved, "camera").inverse() @ world(moved, "part")
    assert_same_place(relative, Pose((0.1, 0.2, 0.3)))
    again = apply(moved, Move("part", (math.nan, math.nan, 0.5), None, "camera"))
    relative = world(again, "camera").inverse() @ world(again, "part")
    assert_same_place(relative, Pose((0.1, 0.2, 0.5)))


def test_a_pose_in_the_parent_is_kept_to_the_last_bit():
    assert apply(SCENE, Attach("part", "upper", HERE)).state.bodies["part"].pose == HERE
    assert apply(SCENE, Move("part", HERE.position, HERE.quaternion)).state.bodies["part"].pose == HERE


def test_a_frame_is_detached_with_the_empty_touch_lists_of_messages():
    scene = apply(SCENE, AddFrame("mark", "tip", HERE, "tip"))
    free = apply(scene, Detach("mark", (), ()))
    assert free.cell.frames["mark"].attached_to == "world"
    assert_same_place(world(scene, "mark"), world(free, "mark"))
    with pytest.raises(UnknownNameError):
        apply(scene, Detach("mark", ("tip",), ()))


def test_base_pose_and_named_frames():
    scene = apply(SCENE, SetBasePose("", (1.0, 2.0, 3.0), (0.0, 0.0, 1.0, 0.0)))
    assert world(scene, "base").position == (1.0, 2.0, 3.0)
    scene = apply(scene, AddFrame("here", "tip", HERE, "world"), AddFrame("there", "world", Pose(), "tip"))
    assert_same_place(world(scene, "here"), HERE)
    assert_same_place(world(scene, "there"), world(scene, "tip"))
    scene = apply(scene, Attach("here", "part"))
    assert_same_place(world(scene, "here"), HERE)


def test_cycles_are_refused_and_named():
    scene = apply(SCENE, Attach("part", "crate"))
    with pytest.raises(FrameCycleError) as caught:
        apply(scene, Attach("crate", "part", Pose()))
    assert set(caught.value.subjects) == {"part", "crate"}
    with pytest.raises(RobotCellError):
        apply(scene, Attach("crate", "place"))
    with pytest.raises(InvalidRequestError, match="which is attached to it"):
        apply(scene, Move("crate", (0.0, 0.0, 0.0), None, "part"))


def test_a_list_of_changes_is_atomic():
    with pytest.raises(UnknownNameError) as caught:
        apply(SCENE, Move("part", (9.0, 9.0, 9.0)), Move("prat", (0.0, 0.0, 0.0)))
    assert "change 1 (Move)" in str(caught.value)
    assert "nearest: part" in str(caught.value)
    assert SCENE.state.bodies["part"].pose == Pose()


def test_adding_replacing_and_removing():
    models = RobotCell(
        robots=frozendict({"second": small_robot("second", "b_")}),
        bodies=frozendict({"wall": RigidBody("wall", (box(),))}),
        frames=frozendict({"corner": NamedFrame("corner", "wall")}),
    )
    states = RobotCellState(bodies=frozendict({"wall": BodyState(HERE)}))
    scene = apply(SCENE, Add(models, states))
    assert scene.state.bodies["wall"].pose == HERE
    assert scene.state.configuration["b_turn"] == 0.0
    with pytest.raises(DuplicateNameError):
        apply(scene, Add(models))
    with pytest.raises(InvalidRequestError, match="wall is the parent of corner"):
        apply(scene, Remove("wall"))
    bigger = RobotCell(bodies=frozendict({"wall": RigidBody("wall", (box(3.0),))}))
    scene = apply(scene, Replace(bigger))
    assert scene.state.bodies["wall"].pose == HERE
    scene = apply(scene, Remove("corner"), Remove("wall"), Remove("second"))
    assert scene == SCENE


def test_names_are_unique_over_all_kinds():
    with pytest.raises(DuplicateNameError, match="'tip' names"):
        apply(SCENE, Add(RobotCell(bodies=frozendict({"tip": RigidBody("tip", (box(),))}))))
    with pytest.raises(ValueError, match="root of all frames"):
        RigidBody("world", (box(),))


def test_two_tools_on_one_tip_are_refused():
    with pytest.raises(RobotCellError, match="both attached"):
        apply(SCENE, Attach("gripper", "hand", HERE), Attach("spare", "hand", HERE))


names = st.sampled_from(["part", "crate", "table", "gripper", "place"])
positions = st.tuples(*[st.floats(-1.0, 1.0) | st.just(math.nan)] * 3)
operations = st.one_of(
    st.builds(Move, names, positions, st.none(), st.sampled_from(["world", "tip", "crate", "camera"])),
    st.builds(Attach, names, st.sampled_from(["tip", "crate", "part", "gripper/tcp", "hand", "place"])),
    st.builds(Detach, names),
    st.builds(SetHidden, names, st.booleans()),
    st.builds(SetTouch, names, st.just(("tip",)), st.just(("table",))),
    st.builds(
        SetJoints, st.fixed_dictionaries({}, optional={"turn": st.floats(-2, 2), "gripper/close": st.floats(0, 0.04)})
    ),
    st.builds(Remove, names),
    st.builds(SetMargin, names, st.floats(0.0, 0.1)),
    st.builds(SetIgnoreGroup, st.just("friends"), st.just(("part", "tip"))),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(operations, min_size=1, max_size=8))
def test_differences_lead_from_one_scene_to_the_other_on_random_changes(changes):
    scene = SCENE
    for change in changes:
        try:
            scene = apply(scene, change)
        except RobotCellError:
            continue
        tree = FrameTree(scene.cell, scene.state)
        assert all(list(tree.ancestors(frame))[-1] == "world" for frame in tree if frame != "world")
    step = difference(SCENE, scene)
    again = apply_difference(SCENE, step)
    assert again == scene
    assert again.state.digest() == scene.state.digest()
    assert apply_difference(scene, difference(scene, SCENE)) == SCENE


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["part", "crate", "table"]),
            st.sampled_from(["tip", "upper", "crate", "part", "table", "gripper/finger"]),
        ),
        max_size=6,
    )
)
def test_reparenting_never_moves_anything(steps):
    scene = apply(SCENE, Attach("gripper", "hand", HERE), Move("part", HERE.position, HERE.quaternion))
    places = {name: world(scene, name) for name in ("part", "crate", "table")}
    for name, carrier in steps:
        try:
            scene = apply(scene, Attach(name, carrier))
        except RobotCellError:
            continue
    for name, place in places.items():
        np.testing.assert_allclose(world(scene, name).matrix, place.matrix, atol=1e-9)


def test_a_zero_and_a_negative_zero_are_distinguished():
    free = apply(SCENE, Move("part", (0.0, 0.0, 0.0)), SetJoints({"turn": 0.0}))
    signed = apply(free, Move("part", (-0.0, 0.0, -0.0)), SetJoints({"turn": -0.0}))
    assert signed.state == free.state
    again = apply_difference(free, difference(free, signed))
    assert again.state.digest() == signed.state.digest() != free.state.digest()


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        (Move, ("part", HERE), "position is a Pose"),
        (Move, ("part", None), "position is None"),
        (Move, ("part", "1,2,3"), "position is '1,2,3'"),
        (Move, ("part", (1.0, 2.0)), "position is a tuple of 2, expected a tuple of 3"),
        (SetBasePose, ("arm", HERE), "position is a Pose"),
        (Attach, ("part", "tip", (0.0, 0.0, 1.0)), "pose is a tuple of 3, expected"),
        (Attach, ("part", "tip", None, "", "tip"), "touch_links is 'tip', expected tuple or None"),
        (Detach, ("part", "tip"), "touch_links is 'tip', expected tuple or None"),
        (SetTouch, ("part", "tip"), "touch_links is 'tip', expected tuple or None"),
        (SetTouch, ("part", (1,)), r"touch_links\[0\] is 1, expected a text"),
        (SetIgnoreGroup, ("group", "part"), "members is 'part', expected a tuple"),
        (SetMargin, ("part", "0.01"), "margin is '0.01', expected float or None"),
        (SetJoints, ((0.1, 0.2),), "values is a tuple of 2, expected a mapping"),
        (SetJoints, ({"shoulder": "0.1"},), r"values\['shoulder'\] is '0.1', expected a number"),
        (SetHidden, ("part", "no"), "hidden is 'no', expected True or False"),
        (AddFrame, ("here", "tip", (0.0, 0.0, 1.0), ""), "pose is a tuple of 3, expected"),
        (Add, ("part",), "models is 'part', expected a RobotCell"),
        (Replace, ("part",), "models is 'part', expected a RobotCell"),
        (Remove, (["part"],), r"expected a text"),
        (Scene, (STATE, CELL), "cell is a RobotCellState, expected a RobotCell"),
    ],
)
def test_a_field_of_a_wrong_type_is_named_where_it_is_given(kind, given, named):
    with pytest.raises(InvalidValueError, match=named):
        kind(*given)


def test_what_is_no_change_is_refused():
    with pytest.raises(InvalidValueError, match=r"changes\[1\] is 'part', expected a change"):
        apply(SCENE, Remove("part"), "part")
