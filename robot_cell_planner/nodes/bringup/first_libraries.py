"""What the process of the physics and the nodes that are forked first (`command_line.FIRST`) import: the
interfaces, and the library as far as they use it, with the kernels of checks of states. The compiler that loads them
is a fifth of the memory of these nodes, and shared by all."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

from ...collision import state_warnings, warm_up  # noqa: F401
from ...io.cell_file import cell_file, simulation_section, writer  # noqa: F401
from ...kinematics import transform_buffer  # noqa: F401
from ...scene import allowed_collision_changes, history, journal, model_changes, state_changes  # noqa: F401
from ...simulation import measuring, process, simulated_cell, worker  # noqa: F401
from ...system import time_limit  # noqa: F401
from ...system.physics import has_physics, load_pybullet
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
from ..common.start import MODULES, NODES
from .command_line import FIRST
from .tracing import traced_forks

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


def import_nodes(names: Iterable[str]) -> None:
    """Import the modules of nodes of the supervisor."""
    for name in names:
        import_module(f"{NODES}.{MODULES[f'{name}_node']}")


def find_sources() -> None:
    """Fill the table of the files of all modules in which the first line of a log looks for its caller: 0.1 s."""
    inspect.getmodule(inspect.currentframe())


if has_physics():
    load_pybullet()
for _name in INTERFACES:
    import_type_support(import_module(_name))
warm_up.warm_up()
traced_forks.import_forkable(lambda: import_nodes(FIRST))
find_sources()
