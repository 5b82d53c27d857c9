"""Conversions between the values of the core and ROS messages, there and back."""
