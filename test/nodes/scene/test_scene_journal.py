"""The scene node's journal: a full disk loses no change, a damaged file is named, and repaired on request alone."""

import resource

from geometry_msgs.msg import Point, Pose
from loaded_cells import loaded
from running import DEMO, RunningNode

from robot_cell_planner.errors import JournalError
from robot_cell_planner.kinematics.transforms import world_pose
from robot_cell_planner.msg import SceneChange
from robot_cell_planner.scene.history import SceneHistory
from robot_cell_planner.scene.journal import Journal
from robot_cell_planner.scene.state_changes import Move


def move(x):
    return SceneChange(operation=SceneChange.MOVE, name="workpiece", pose=Pose(position=Point(x=x)))


def test_a_full_disk_refuses_changes_and_loses_none(start_node, client, tmp_path):
    journal = tmp_path / "journal"
    node = start_node("scene_node", cell_file=DEMO, journal_file=journal)
    client.apply(move(0.5))
    limits = resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (journal.stat().st_size + 1000, limits[1]))
    acknowledged = []
    refused = []
    for step in range(100):
        try:
            client.apply(move(float(step)))
            acknowledged.append(float(step))
        except JournalError as error:
            refused.append(error.message)
    assert refused
    assert all("File too large" in message for message in refused)
    scene, revision = client.scene()
    assert scene.state.bodies["workpiece"].pose.position[0] == acknowledged[-1]
    node.kill()
    node = start_node("scene_node", cell_file=DEMO, journal_file=journal)
    assert client.scene() == (scene, revision)
    client.apply(move(7.0))
    node.stop()


def test_a_damaged_journal_ends_the_node_until_it_may_repair(start_node, client, domain, tmp_path):
    journal = tmp_path / "journal"
    with Journal(journal) as written:
        owner = SceneHistory(world_pose, written)
        owner.load(*loaded())
        before = owner.scene
        owner.apply([Move("workpiece", (0.6, 0.0, 0.0))])
    content = bytearray(journal.read_bytes())
    content[-20] ^= 1
    journal.write_bytes(content)
    refused = RunningNode("scene_node", domain, cell_file=DEMO, journal_file=journal)
    assert refused.wait() == 1
    assert f"{journal}, line 3: damaged" in refused.output
    assert "journal_repair" in refused.output
    assert len(refused.output.strip().splitlines()) == 1, refused.output
    assert journal.read_bytes() == content
    repaired = start_node("scene_node", cell_file=DEMO, journal_file=journal, journal_repair=True)
    assert client.scene() == (before, 1)
    assert "line 3: damaged" in repaired.output
    assert (tmp_path / "journal.damaged").read_bytes() == content
