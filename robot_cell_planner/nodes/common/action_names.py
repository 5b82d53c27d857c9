"""Names of actions that the execution node offers and the client uses."""

MOVE_GRIPPER = "execution/move_gripper"


def move_gripper_action(tool: str) -> str:
    """Return the name of the action that moves the gripper of a tool, in a cell with several grippers."""
    return f"execution/{tool}/move_gripper"
