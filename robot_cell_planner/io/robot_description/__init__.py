"""Robot descriptions: URDF, xacro, SRDF and joint limits."""
