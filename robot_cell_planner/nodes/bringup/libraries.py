"""What the supervisor's other nodes import: the rest of the library with its compiled kernels."""

from __future__ import annotations

from ...cases import case_file  # noqa: F401
from ...collision import targets  # noqa: F401
from ...io import import_files  # noqa: F401
from ...kinematics import velocity  # noqa: F401
from ...model import random_configurations  # noqa: F401
from ...planning.problem import plan_file  # noqa: F401
from ...planning.workers import pool, preload, server  # noqa: F401
from ...simulation import camera_process, camera_view  # noqa: F401
from ...viewer import page  # noqa: F401
from .command_line import NODES
from .first_libraries import find_sources, import_nodes

import_nodes(NODES)
find_sources()
