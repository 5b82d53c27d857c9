"""Following a Cartesian path with inverse kinematics, step by step, and reasons for failure."""
