"""Robot descriptions for tests: those of the packages example-robot-data and pybullet_data."""

import sys
from pathlib import Path

import pybullet_data

FOLDERS = (Path(entry, "cmeel.prefix/share/example-robot-data/robots") for entry in sys.path)
ROBOTS = next(folder for folder in FOLDERS if folder.is_dir())
BULLET = Path(pybullet_data.getDataPath())
MANIPULATORS = {
    "panda": ROBOTS / "panda_description/urdf/panda.urdf",
    "ur3": ROBOTS / "ur_description/urdf/ur3_robot.urdf",
    "ur5": ROBOTS / "ur_description/urdf/ur5_robot.urdf",
    "ur5 with gripper": ROBOTS / "ur_description/urdf/ur5_gripper.urdf",
    "ur10": ROBOTS / "ur_description/urdf/ur10_robot.urdf",
    "xarm7": ROBOTS / "xarm_description/urdf/xarm7.urdf",
    "kinova": ROBOTS / "kinova_description/robots/kinova.urdf",
    "z1": ROBOTS / "z1_description/urdf/z1.urdf",
    "so101": ROBOTS / "so_arm_description/urdf/so101.urdf",
    "talos arm": ROBOTS / "talos_data/robots/talos_left_arm.urdf",
    "tiago": ROBOTS / "tiago_description/robots/tiago.urdf",
    "baxter": ROBOTS / "baxter_description/urdf/baxter.urdf",
    "bullet panda": BULLET / "franka_panda/panda.urdf",
    "bullet kuka": BULLET / "kuka_iiwa/model.urdf",
}
