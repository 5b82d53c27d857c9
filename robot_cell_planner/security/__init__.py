"""Access control of SROS 2 (ROS 2 over DDS Security): policies, permissions, and the keystore of nodes.

Nothing here needs ROS: the files are what `ros2 security` of SROS 2 makes and reads.
"""
