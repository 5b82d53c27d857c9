"""The pick and place as a script without ROS: python examples/pick_and_place_library.py [cell file] [seed] [folder]"""

import math
import sys

from robot_cell_planner import OfflineCell, SetJoints, SetTouch

cell_file = sys.argv[1] if len(sys.argv) > 1 else "config/demo/cell.yaml"
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
folder = sys.argv[3] if len(sys.argv) > 3 else "demo_record"
finger, fingers = "gripper/finger_joint", ("gripper/left_finger", "gripper/right_finger")
opened, gripping = 0.042, 0.025  # m

with OfflineCell.load(cell_file, seed=seed, report=print) as cell:
    cell.move("to above the workpiece", tool_at="above_pick")
    cell.line("down to the workpiece", tool_at="pick")
    cell.command("close the gripper", {finger: 0.0}, duration=0.5)
    cell.apply(SetJoints({finger: gripping}))
    cell.attach("workpiece", "gripper/tcp", touch_links=fingers)
    cell.line("up with the workpiece", tool_at="above_pick")
    cell.apply(SetTouch("workpiece", touch_bodies=()))
    cell.move("over to the bin", workpiece_at="over_bin")
    cell.apply(SetTouch("workpiece", touch_bodies=("bin",)))
    cell.line("down into the bin", workpiece_at="place")
    cell.command("open the gripper", {finger: opened}, duration=0.5)
    cell.apply(SetJoints({finger: opened}))
    cell.detach("workpiece")
    cell.line("up out of the bin", tool_at="over_bin", pose=cell.cell.frames["grasp"].pose)
    cell.move("home", named_state="home")

    distance, angle = cell.simulation.body_pose("workpiece").distance_to(cell.pose("place"))
    touching = [{contact.first, contact.second} for contact in cell.simulation.contact_log]
    unwanted = [pair for pair in touching if pair - {*fingers, "bin", "table", "workpiece"}]
    result = f"{1e3 * distance:.2f} mm and {math.degrees(angle):.2f} degrees from its goal"
    result += f", {len(unwanted)} unwanted contacts"
    print("workpiece:", result)
    print("replay:", cell.write_replay(f"{folder}/library_{cell.cell.name}.html", {"workpiece": result}))
sys.exit(distance > 1e-3 or math.degrees(angle) > 0.5 or bool(unwanted))
