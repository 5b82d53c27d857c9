"""Unmodified robot descriptions: `new`, `check`, kinematics, plans, a line and an execution in the simulation.

    python -m benchmarks.descriptions FOLDER_OR_FILE_OR_LIST ...

A list is a text file with one description a line, with its xacro arguments (`name:=value`) and the folders of packages
that it needs (`--root=FOLDER`). Nothing is fetched.
With `--pairs 1000000`, the pairs that a draft disables as never colliding are checked at so many random states.
"""
