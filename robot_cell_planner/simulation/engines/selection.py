"""Choice of the physics engine."""

from __future__ import annotations

from ...system.physics import load_pybullet, require_mujoco, require_physics
from ..multibody.multibodies import Multibodies
from .base import Engine, PhysicsSettings
from .names import MUJOCO


def require_engine(name: str, what: str) -> None:
    """Check that an engine is installed. `what`: What needs it, as the subject of a sentence.

    Raises:
        NotSupportedError: It is not.
    """
    if name == MUJOCO:
        require_mujoco(what)
    else:
        require_physics(what, 'the simulation can have engine "mujoco" instead')


def make_engine(name: str, multibodies: Multibodies, settings: PhysicsSettings) -> Engine:
    """Return an engine of ENGINES with multibodies.

    Raises:
        NotSupportedError: The engine is not installed, or too many are open in this process.
        LimitExceededError: A multibody has more links than the engine supports.
        GeometryError: A mesh cannot be read or used.
    """
    require_engine(name, "the simulation of a cell")
    if name == MUJOCO:
        from .mujoco_engine import MujocoEngine  # not installed everywhere

        return MujocoEngine(multibodies, settings)
    load_pybullet()
    from .bullet_engine import BulletEngine  # not installed everywhere

    return BulletEngine(multibodies, settings, grouped=True)
