"""Examination of a running ROS graph: what does not fit together, and what to do about it."""
