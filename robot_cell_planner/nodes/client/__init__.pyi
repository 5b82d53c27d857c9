from .client import CellClient as CellClient
from .client import from_configuration as from_configuration
from .client import goal_of as goal_of
from .client import pose_target as pose_target
from .run_record import RunRecord as RunRecord
