"""All frames of a cell but world have its prefix in TF."""

from robot_cell_planner.nodes.common.frame_names import frame_in_tf


def test_the_prefix_is_put_before_all_frames_but_world():
    assert frame_in_tf("cell1/", "gripper/tcp") == "cell1/gripper/tcp"
    assert frame_in_tf("", "gripper/tcp") == "gripper/tcp"
    assert frame_in_tf("cell1/", "world") == "world"
