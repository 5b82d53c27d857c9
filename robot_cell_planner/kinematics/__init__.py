"""Kinematics: world transforms, forward and inverse kinematics, differential kinematics and dynamics."""
