"""Models that are replaced by a message are read as models that are added: collision settings and frames included."""

import msgspec
import pytest
from frozendict import frozendict
from reference import box, reference_world_pose, small_cell

from robot_cell_planner.io.common.resources import NO_ROOTS
from robot_cell_planner.model.bodies import CollisionSettings, NamedFrame, PairMargin, RigidBody
from robot_cell_planner.model.cell import RobotCell
from robot_cell_planner.model.pose import Pose
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.nodes.conversions.changes import changes_from_message
from robot_cell_planner.nodes.conversions.model_messages import cell_to_message
from robot_cell_planner.nodes.conversions.models import ModelReader
from robot_cell_planner.scene.changes import apply_changes
from robot_cell_planner.scene.scene import Scene

SCENE = Scene(*small_cell())
replace = msgspec.structs.replace


def after(operation, models, relative_to="", scene=SCENE):
    """The small cell after models were added or replaced."""
    message = cell_to_message(models)
    for frame in message.frames:
        frame.relative_to = relative_to
    change = SceneChange(operation=operation, models=message)
    reader = ModelReader(NO_ROOTS).trusted()
    return apply_changes(scene, changes_from_message([change], reader, "changes", 1), reference_world_pose)


def test_collision_settings_are_taken():
    own = CollisionSettings(
        frozendict(friends=("part", "tip")), frozendict(part=0.5), (PairMargin("part", "table", 1.0),)
    )
    bigger = RobotCell(bodies=frozendict(part=RigidBody("part", (box(3.0),))), collision=own)
    found = after(SceneChange.REPLACE, bigger).cell
    assert found.collision == own
    assert found.collision == after(SceneChange.ADD, RobotCell(collision=own)).cell.collision


@pytest.mark.parametrize("operation", [SceneChange.ADD, SceneChange.REPLACE])
def test_a_group_without_members_is_removed(operation):
    def with_group(*members):
        return RobotCell(collision=CollisionSettings(frozendict(friends=members, others=("part", "table"))))

    friends = replace(SCENE, cell=replace(SCENE.cell, collision=with_group("part", "tip").collision))
    found = after(operation, with_group(), scene=friends)
    assert found.cell.collision.ignore_groups == {"others": ("part", "table")}


def test_collision_settings_are_applied_once():
    own = CollisionSettings(frozendict(friends=("part", "tip")), frozendict(part=0.5))
    change = SceneChange(operation=SceneChange.ADD, models=cell_to_message(RobotCell(collision=own)))
    (added,) = changes_from_message([change], ModelReader(NO_ROOTS).trusted(), "changes", 1)
    assert added.models.collision == own


@pytest.mark.parametrize("relative_to", ["tip", "table", "part"])
def test_frames_may_be_given_relative_to_others(relative_to):
    pose = Pose((0.1, 0.2, 0.3))
    found = after(
        SceneChange.REPLACE, RobotCell(frames=frozendict(place=NamedFrame("place", "crate", pose))), relative_to
    )
    added = after(SceneChange.ADD, RobotCell(frames=frozendict(new=NamedFrame("new", "crate", pose))), relative_to)
    assert found.cell.frames["place"].attached_to == "crate"
    distance, angle = found.cell.frames["place"].pose.distance_to(added.cell.frames["new"].pose)
    assert distance < 1e-12
    assert angle < 1e-9
