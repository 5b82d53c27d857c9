"""The command `robot_cell`: `up` starts the nodes of a cell, `new` drafts a cell, `check` checks one, `doctor`
examines the installation and the running nodes."""
