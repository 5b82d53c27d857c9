"""The kinematics node."""
