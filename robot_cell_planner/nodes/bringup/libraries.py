"""What the supervisor's nodes share: the library with its compiled kernels, the interfaces, and their own modules."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ...cases import case_file  # noqa: F401
from ...collision import state_warnings, targets  # noqa: F401
from ...io import import_files  # noqa: F401
from ...io.cell_file import cell_file, simulation_section, writer  # noqa: F401
from ...kinematics import transform_buffer, velocity  # noqa: F401
from ...model import random_configurations  # noqa: F401
from ...planning.problem import plan_file  # noqa: F401
from ...planning.workers import pool, preload, server  # noqa: F401
from ...scene import allowed_collision_changes, history, journal, model_changes, state_changes  # noqa: F401
from ...simulation import camera_process, camera_view, measuring, process, simulated_cell, worker  # noqa: F401
from ...system import time_limit  # noqa: F401
from ...system.physics import has_physics
from ...trajectory import (  # noqa: F401
    command_limits,
    prediction,
    resampling,
    sampler,
    servo_frames,
    splicing,
    time_scaling,
    tracking,
)
from ...viewer import page  # noqa: F401
from ..common.start import MODULES, NODES
from .command_line import NODES as STARTED
from .tracing import import_forkable

INTERFACES = (
    "robot_cell_planner.msg",
    "robot_cell_planner.srv",
    "robot_cell_planner.action",
    "action_msgs.msg",
    "action_msgs.srv",
    "builtin_interfaces.msg",
    "control_msgs.action",
    "control_msgs.msg",
    "diagnostic_msgs.msg",
    "geometry_msgs.msg",
    "lifecycle_msgs.msg",
    "lifecycle_msgs.srv",
    "rcl_interfaces.msg",
    "rcl_interfaces.srv",
    "rosgraph_msgs.msg",
    "sensor_msgs.msg",
    "service_msgs.msg",
    "shape_msgs.msg",
    "std_msgs.msg",
    "std_srvs.srv",
    "tf2_msgs.msg",
    "trajectory_msgs.msg",
    "type_description_interfaces.srv",
    "unique_identifier_msgs.msg",
    "visualization_msgs.msg",
)


def import_type_support(interfaces: ModuleType) -> None:
    """Import the conversions of all types of a module, as rclpy does when it first uses a type."""
    for kind in tuple(vars(interfaces).values()):
        load = getattr(type(kind), "__import_type_support__", None) if isinstance(kind, type) else None
        if load is not None:
            load()



def _import_nodes() -> None:
    for name in STARTED:
        import_module(f"{NODES}.{MODULES[f'{name}_node']}")


if has_physics():
    worker.import_quietly("pybullet")
for _name in INTERFACES:
    import_type_support(import_module(_name))
import_forkable(_import_nodes)
