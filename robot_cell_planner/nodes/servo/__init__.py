"""Servo: joints follow commanded velocities and poses."""
