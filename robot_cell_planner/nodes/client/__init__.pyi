from ..conversions.basic import pose_from_message as pose_from_message
from ..conversions.basic import pose_to_message as pose_to_message
from .client import CellClient as CellClient
from .client import make_goal as make_goal
from .client import make_pose_target as make_pose_target
from .client import merge_plans as merge_plans
from .client import state_with_joints as state_with_joints
from .run_record import RunRecord as RunRecord
