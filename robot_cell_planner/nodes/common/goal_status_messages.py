"""Reader of serialized action_msgs/GoalStatusArray, which converts no goal that is not read.

Source: OMG Common Data Representation, in DDSI-RTPS 2.5, chapter 10.
"""

from __future__ import annotations

import struct

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray

from .transform_messages import HEADER, LITTLE_ENDIAN_CDR, deserialized

RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
_COUNT = struct.Struct("<I")
_ID_SIZE = 16  # [bytes]
# A goal ID of 16 bytes, a stamp of 8, aligned to 4, and the state. Only the first goal, after their number, begins
# at a multiple of 4.
_FIRST_SIZE, _SIZE = 25, 28
_GOAL = np.dtype({"names": ["id", "status"], "formats": [f"V{_ID_SIZE}", "i1"], "offsets": [0, _SIZE - 1]})
_GOALS_AT = HEADER + _COUNT.size


def running_goals(data: bytes, max_goals: int) -> list[bytes]:
    """Return the IDs of the goals that run among the latest ones, at most `max_goals`, of a message in CDR, or in any
    other encoding that rclpy reads.

    Raises:
        struct.error: The message is not complete.
    """
    if data[:2] != LITTLE_ENDIAN_CDR:
        states = deserialized(data, GoalStatusArray).status_list[-max_goals:]
        return [bytes(state.goal_info.goal_id.uuid) for state in states if state.status in RUNNING]
    (count,) = _COUNT.unpack_from(data, HEADER)
    # The gap before the stamp, which the first goal does not have, is assumed before it.
    begin = _GOALS_AT + _FIRST_SIZE - _SIZE
    if count and len(data) < begin + count * _SIZE:
        raise struct.error("a list of goals is longer than its message")
    first = max(count - max_goals, 1)
    rest = np.frombuffer(data, _GOAL, max(count - first, 0), begin + first * _SIZE if count > 1 else 0)
    found: list[bytes] = rest["id"][np.isin(rest["status"], RUNNING)].tolist()
    if count and max_goals >= count and data[_GOALS_AT + _FIRST_SIZE - 1] in RUNNING:
        found.insert(0, data[_GOALS_AT : _GOALS_AT + _ID_SIZE])
    return found
