"""Models, states and differences are unchanged after conversion to messages and bytes and back, to the last bit."""

import math
from pathlib import Path

import msgspec
import pytest
from frozendict import frozendict
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from loaded_cells import loaded
from rclpy.serialization import deserialize_message, serialize_message
from strategies import bodies, frames, inertials, name_tuples, names, poses, shape_tuples, shapes, states

from robot_cell_planner.collision.checker import CollisionChecker
from robot_cell_planner.collision.pairs.allowed_pairs import CollisionOptions
from robot_cell_planner.errors import DuplicateNameError, InvalidRequestError, RobotCellError
from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.io.common.serialisation import to_json
from robot_cell_planner.io.robot_description.loading import load_robot, load_tool, robot_from_sources
from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, PairMargin, rigid_tool
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.geometry import MeshUse
from robot_cell_planner.model.mesh_use import REPRESENTATIONS
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import JointPath, MotionCertificate, MotionPlan, PlanRecord, SceneChange
from robot_cell_planner.msg import RobotCell as CellMessage
from robot_cell_planner.nodes.conversions import basic
from robot_cell_planner.nodes.conversions.changes import changes_from_message, update_from_message, update_to_message
from robot_cell_planner.nodes.conversions.collisions import pair_to_message
from robot_cell_planner.nodes.conversions.model_messages import cell_to_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.nodes.conversions.path_requests import plan_from_message
from robot_cell_planner.nodes.conversions.states import StateWriter, state_from_message, state_to_message
from robot_cell_planner.nodes.conversions.trajectories import error_of_report
from robot_cell_planner.nodes.conversions.trajectory_reports import report_to_message
from robot_cell_planner.scene.diff import apply_difference, difference
from robot_cell_planner.scene.scene import Scene
from robot_cell_planner.trajectory.validation import LimitViolation, Quantity, TrajectoryCollision, TrajectoryReport

ROOT = Path(__file__).parents[3]
OWNER = ModelReader(NO_ROOTS).trusted()
PANDA = "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
laws = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def sent(message):
    return deserialize_message(serialize_message(message), type(message))


def assert_same(again, value):
    assert again == value
    assert to_json(again) == to_json(value)


@laws
@given(states)
def test_states(state):
    again = state_from_message(sent(state_to_message(state)), "state")
    assert_same(again, state)
    assert again.digest() == state.digest()


@laws
@given(st.lists(states, min_size=2, max_size=4))
def test_states_that_follow_each_other(states):
    """Data that the writer caches for one state does not appear in the next."""
    writer = StateWriter()
    for state in [*states, *reversed(states)]:
        assert_same(state_from_message(sent(writer.message(state)), "state"), state)


settings_of_collision = st.builds(
    CollisionSettings,
    st.dictionaries(names, name_tuples.filter(bool), max_size=3).map(frozendict),
    st.dictionaries(names | st.just("*"), st.floats(0.0, 10.0), max_size=3).map(frozendict),
    st.lists(st.builds(PairMargin, names, names, st.floats(0.0, 10.0)), max_size=3).map(tuple),
)


@st.composite
def cells(draw):
    """Bodies, tools of shapes, frames and collision settings."""
    some = st.lists(shapes, min_size=1, max_size=2).map(tuple)
    tools = {
        name: rigid_tool(name, draw(some), draw(shape_tuples), draw(st.none() | inertials), draw(poses))
        for name in draw(st.lists(names, max_size=2, unique=True))
    }
    try:
        return RobotCell(
            draw(names),
            tools=frozendict(tools),
            bodies=frozendict({body.name: body for body in draw(st.lists(bodies, max_size=3))}),
            frames=frozendict({frame.name: frame for frame in draw(st.lists(frames, max_size=2))}),
            collision=draw(settings_of_collision),
        )
    except DuplicateNameError:
        assume(False)


@laws
@given(cells())
def test_cells(cell):
    again = OWNER.cell(sent(cell_to_message(cell)), "cell")
    assert_same(again, cell)
    assert again.digest() == cell.digest()


@laws
@given(cells(), cells())
def test_differences(first, second):
    old, new = Scene(first, first.default_state()), Scene(second, second.default_state())
    step = difference(old, new)
    message = sent(update_to_message(step, 3, 4, new.state.digest()))
    assert (message.previous_revision, message.revision) == (3, 4)
    again = apply_difference(old, update_from_message(message, OWNER))
    assert again == new
    assert (again.state.digest(), again.cell.digest()) == (message.digest, second.digest())


@pytest.mark.parametrize("name", ["demo", "ur10", "two_arms"])
def test_cells_of_files(name):
    cell, state = loaded(name)
    assert_same(OWNER.cell(sent(cell_to_message(cell)), "cell"), cell)
    assert_same(state_from_message(sent(state_to_message(state)), "state"), state)


@pytest.mark.parametrize("use", REPRESENTATIONS)
def test_robots_and_tools_keep_how_their_meshes_are_checked(use):
    robot = load_robot("left", PANDA, prefix="left_", mesh_use=use)
    tool = load_tool("hand", PANDA, tcp_link="panda_hand", mesh_use=use)
    cell = RobotCell("panda", frozendict(left=robot), frozendict(hand=tool))
    assert_same(OWNER.cell(sent(cell_to_message(cell)), "cell"), cell)


def test_a_robot_keeps_how_single_meshes_are_checked():
    robot = load_robot("panda", PANDA)
    uri = robot.mechanism.links["panda_hand"].collisions[0].geometry.uri
    sources = msgspec.structs.replace(robot.sources, mesh_uses=frozendict({uri: MeshUse.EXACT}))
    robot = robot_from_sources("panda", sources)
    assert robot.mechanism.links["panda_hand"].collisions[0].geometry.use is MeshUse.EXACT
    cell = RobotCell("panda", frozendict(panda=robot))
    message = sent(cell_to_message(cell))
    assert_same(OWNER.cell(message, "cell"), cell)
    message.robots[0].urdf.mesh_uses[0].value = "triangles"
    with pytest.raises(InvalidRequestError, match="'triangles', expected one of hull, exact, decomposition"):
        OWNER.cell(message, "cell")


@laws
@given(poses)
def test_poses(pose):
    assert basic.pose_from_message(sent(basic.pose_to_message(pose)), "pose") == pose


@given(st.integers(0, 2**31 * basic.NANOSECONDS - 1))
def test_times(stamp):
    assert basic.time_from_message(sent(basic.time_to_message(stamp))) == stamp


@given(st.floats(0.0, 1e9))
def test_durations(seconds):
    again = basic.duration_from_message(basic.duration_to_message(seconds))
    assert again == pytest.approx(seconds, abs=1e-9, rel=1e-15)


@given(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3), st.sampled_from(["", "Give another."]))
def test_errors(text, subjects, remedy):
    """A remedy of the error itself stays one; that of its type is sent, too."""
    error = InvalidRequestError(text, stage="x", subjects=tuple(subjects), remedy=remedy)
    message = basic.error_to_message(error)
    again = basic.error_from_message(message)
    assert isinstance(again, RobotCellError)
    assert (type(again), again.message, again.stage, again.subjects) == (type(error), text, "x", tuple(subjects))
    assert message.remedy == again.remedy == (remedy or InvalidRequestError.remedy)
    assert ("remedy" in vars(again)) is bool(remedy)


def in_quarters(change):
    """The same change by a caller whose unit is 0.25 m."""

    def enlarge(vector):
        vector.x, vector.y, vector.z = 4 * vector.x, 4 * vector.y, 4 * vector.z

    result = sent(change)
    result.native_scale = 0.25
    models, states = result.models, result.states
    placed = [result, *models.frames, *states.base_poses, *states.tools, *states.bodies]
    for entry in (*models.tools, *models.bodies):
        placed += [*entry.inertial, *entry.visual, *entry.collision]
        for geometry in (shape.geometry for shape in (*entry.visual, *entry.collision)):
            geometry.dimensions = [4 * value for value in geometry.dimensions]
            for vertex in (*geometry.mesh.vertices, geometry.mesh_scale):
                enlarge(vertex)
    for entry in placed:
        enlarge(entry.pose.position)
    for tool in models.tools:
        enlarge(tool.tcp.position)
    for margin in models.collision.margins:
        margin.margin *= 4
    return result


def operations(change):
    return changes_from_message([change], OWNER, "changes", 1)


@laws
@given(shape_tuples, inertials, poses, states)
def test_changes_in_other_units(shapes, inertial, pose, state):
    tool = rigid_tool("tool", shapes, inertial=inertial, tcp=pose)
    cell = RobotCell(
        "cell",
        tools=frozendict(tool=tool),
        frames=frozendict(here=NamedFrame("here", pose=pose)),
        collision=CollisionSettings(frozendict(), frozendict(tool=0.5), (PairMargin("tool", "world", 0.25),)),
    )
    models, states_there = cell_to_message(cell), state_to_message(state)
    place = basic.pose_to_message(pose)
    changes = [
        SceneChange(operation=SceneChange.ADD, models=models),
        SceneChange(operation=SceneChange.SET_STATE, states=states_there),
        SceneChange(operation=SceneChange.MOVE, name="tool", pose=place),
        SceneChange(operation=SceneChange.ATTACH, name="tool", attach_to="arm", pose=place),
        SceneChange(operation=SceneChange.SET_COLLISION, models=CellMessage(collision=models.collision)),
    ]
    for change in changes:
        try:
            expected = operations(change)
        except RobotCellError:
            assume(False)
        enlarged = in_quarters(change)
        before = sent(enlarged)
        assert operations(enlarged) == expected
        assert enlarged == before
    for scale in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidRequestError, match="native_scale"):
            operations(SceneChange(operation=SceneChange.REMOVE, name="tool", native_scale=scale))


@laws
@given(shape_tuples, inertials, poses, st.sampled_from((1.0, 0.125)))
def test_a_model_in_units_of_its_own(shapes, inertial, pose, unit):
    """A model states the unit of its own lengths; all others are in the unit of the change."""
    tool = rigid_tool("tool", shapes, inertial=inertial, tcp=pose)
    frame = NamedFrame("here", pose=Pose((0.5, 1.0, 2.0)))
    cell = RobotCell("cell", tools=frozendict(tool=tool), frames=frozendict(here=frame))
    change = SceneChange(operation=SceneChange.ADD, models=cell_to_message(cell))
    expected = operations(change)
    own = in_quarters(change)
    own.native_scale = unit
    own.models.tools[0].native_scale = 0.25
    for axis in "xyz":
        frame = own.models.frames[0].pose.position
        setattr(frame, axis, getattr(frame, axis) / 4 / unit)
    before = sent(own)
    assert operations(own) == expected
    assert own == before
    for scale in (-1.0, float("nan"), float("inf")):
        own.models.tools[0].native_scale = scale
        with pytest.raises(InvalidRequestError, match=r"tools\[tool\]\.native_scale"):
            operations(own)


@pytest.mark.parametrize("fraction", [0.25, 1.0, math.nan])
def test_the_certified_fraction_of_a_plan_is_read_from_its_message(fraction):
    verdict = MotionCertificate.NONE if math.isnan(fraction) else MotionCertificate.UNDECIDED
    record = PlanRecord(
        certificate=MotionCertificate(verdict=verdict, certified_fraction=0.0 if math.isnan(fraction) else fraction)
    )
    path = JointPath(joint_names=["a"], positions=[0.0, 1.0])
    plan = plan_from_message(MotionPlan(path=path, record=record), "plan", 100)
    assert plan.certified_fraction == pytest.approx(fraction, nan_ok=True)


@pytest.mark.parametrize("quantity", list(Quantity))
def test_the_error_of_a_violation_names_its_quantity(quantity):
    found = LimitViolation(quantity, "elbow_joint", 3, 0.1, 2.0, 1.0)
    report = report_to_message(TrajectoryReport(0.1, (found,)), RobotCell("empty"))
    assert error_of_report(report).message.startswith(f"{quantity.value} of elbow_joint at point 3 (0.100 s)")


def test_the_error_of_several_violations_is_about_the_one_that_explains_others():
    """The start, then positions, then velocities; those of rates alone are in the order of time."""

    def named(*quantities):
        found = tuple(LimitViolation(quantity, "a", i, 0.1 * i, 2.0, 1.0) for i, quantity in enumerate(quantities))
        return error_of_report(report_to_message(TrajectoryReport(1.0, found), RobotCell("empty"))).message.split()[0]

    rates = (Quantity.JERK, Quantity.ACCELERATION, Quantity.CONTINUITY)
    assert named(*rates) == "jerk"
    assert named(*rates, Quantity.VELOCITY) == "velocity"
    assert named(*rates, Quantity.VELOCITY, Quantity.POSITION) == "position"
    assert named(*rates, Quantity.POSITION, Quantity.START) == "start"


def test_a_collision_of_a_trajectory_says_what_collides():
    """Types and kinds of its pairs are those of a report of the state; distances, which a validation lacks, are NaN."""
    cell, state = loaded()
    checker = CollisionChecker(cell, state, options=CollisionOptions(extra_margin=0.2))
    pairs = checker.report(checker.default).pairs
    found = tuple(TrajectoryCollision(0, 0.0, checker.default, pair.second, pair.first) for pair in pairs)
    report = report_to_message(TrajectoryReport(0.1, collisions=found), cell)
    messages = [each.pair for each in report.collisions]
    expected = [pair_to_message(pair) for pair in pairs]
    assert len({message.pair_type for message in expected}) > 2
    for message, truth in zip(messages, expected, strict=True):
        named = {(message.name_a, message.kind_a), (message.name_b, message.kind_b)}
        assert named == {(truth.name_a, truth.kind_a), (truth.name_b, truth.kind_b)}
        assert (message.pair_type, message.verdict) == (truth.pair_type, truth.verdict)
        assert math.isnan(message.distance)
        assert math.isnan(message.margin)
    unnamed = report_to_message(TrajectoryReport(0.1, collisions=(TrajectoryCollision(0, 0.0, checker.default),)), cell)
    assert unnamed.collisions[0].pair.name_a == ""
