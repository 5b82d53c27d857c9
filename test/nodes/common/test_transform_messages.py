"""Transforms read from serialized messages of TF are those that rclpy reads."""

from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from robot_cell_planner.nodes.common import transform_messages
from robot_cell_planner.nodes.common.transform_messages import transforms_of

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
numbers = st.floats(allow_nan=False)


@st.composite
def transforms(draw):
    entry = TransformStamped(child_frame_id=draw(names))
    entry.header.frame_id = draw(names)
    entry.header.stamp.sec = draw(st.integers(-(2**31), 2**31 - 1))
    entry.header.stamp.nanosec = draw(st.integers(0, 2**32 - 1))
    translation, rotation = (
        dict(zip(axes, draw(st.tuples(*[numbers] * len(axes))), strict=True)) for axes in ("xyz", "xyzw")
    )
    entry.transform = Transform(translation=Vector3(**translation), rotation=Quaternion(**rotation))
    return entry


@given(st.lists(transforms(), max_size=5))
def test_serialized_transforms_are_read_as_rclpy_reads_them(entries):
    serialized = serialize_message(TFMessage(transforms=entries))
    assert serialized[:2] == transform_messages.LITTLE_ENDIAN_CDR
    found = list(transforms_of(serialized))
    assert found == list(transform_messages._from_objects(TFMessage(transforms=entries)))
