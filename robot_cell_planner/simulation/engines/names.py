"""Names of the physics engines."""

BULLET, MUJOCO = "bullet", "mujoco"
ENGINES = (BULLET, MUJOCO)
