"""`python -m robot_cell_planner.nodes.bringup`."""

import sys

from .command_line import main

sys.exit(main())
