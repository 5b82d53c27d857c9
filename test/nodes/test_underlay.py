"""tf2_msgs and control_msgs, wherever they come from, are on the wire what the public packages are."""

import json
import os
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory

DISTRIBUTION = os.environ.get("ROS_DISTRO", "")
# The layout of this action depends on the distribution; with one that is not listed, any of these.
FOLLOW_JOINT_TRAJECTORY = {
    "jazzy": "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6",
    "kilted": "RIHS01_ff29901b2693f5deb847e96084a1c2cdb26e70b7c847be21859b70a55fb29cf0",
}
# REP-2016 type hashes of the public packages: geometry2 0.41, control_msgs 6.8 and, where it differs, 5.8 (Jazzy).
PUBLIC = {
    "tf2_msgs/msg/TFMessage": {"RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"},
    "tf2_msgs/msg/TF2Error": {"RIHS01_db2485e7d6a0ec75bf087e058ee45df682acc3a621ca7780503d10aac141809a"},
    "tf2_msgs/srv/FrameGraph": {"RIHS01_0d1fbc6222c018ba5f33822904a2fdd4063705289956d3fdde07cd8c50fe8067"},
    "tf2_msgs/action/LookupTransform": {"RIHS01_0b8adf6bc0b5958879e3265b41a457e03558fe523890a81252c70eba97a82c5d"},
    "control_msgs/msg/JointJog": {"RIHS01_ba249455a20f70168a1acb7bf43b776b72ff1f7eb5fc4cfea443f749e963c6e7"},
    "control_msgs/msg/JointTolerance": {"RIHS01_c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648"},
    "control_msgs/msg/JointComponentTolerance": {
        "RIHS01_739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4"
    },
    "control_msgs/msg/JointTrajectoryControllerState": {
        "RIHS01_51d8dd89cc624cbe9daaeeb4d80d6de9b86168ffdc3be41fefc0953e3c26e480"
    },
    "control_msgs/msg/GripperCommand": {"RIHS01_57eb8f326c9889ca8bb34ead82cc94cc09bf6bc5c3b6c09546dca3a00b589890"},
    "control_msgs/action/GripperCommand": {"RIHS01_e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84"},
    "control_msgs/action/ParallelGripperCommand": {
        "RIHS01_adfd3c1ebe8abc38ebcc0e454b6423d291d4010dd5697d14eca5b9be4726ae18"
    },
    "control_msgs/action/FollowJointTrajectory": (
        {FOLLOW_JOINT_TRAJECTORY[DISTRIBUTION]}
        if DISTRIBUTION in FOLLOW_JOINT_TRAJECTORY
        else set(FOLLOW_JOINT_TRAJECTORY.values())
    ),
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_type_hash_is_the_public_one(name):
    package, kind, interface = name.split("/")
    description = Path(get_package_share_directory(package), kind, f"{interface}.json")
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(description.read_text())["type_hashes"]}
    assert hashes[name] in PUBLIC[name]


def test_every_interface_of_the_underlay_is_compared():
    underlay = Path(__file__).parents[2] / "underlay"
    interfaces = [path for kind in ("msg", "srv", "action") for path in underlay.glob(f"*/{kind}/*.{kind}")]
    names = {f"{path.parts[-3]}/{path.parts[-2]}/{path.stem}" for path in interfaces}
    assert names == set(PUBLIC)
