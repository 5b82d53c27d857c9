"""Conversions between values of the core and ROS messages."""
