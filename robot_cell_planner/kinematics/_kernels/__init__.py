"""Compiled kernels of serial chains: forward kinematics, Jacobians, inverse kinematics."""
