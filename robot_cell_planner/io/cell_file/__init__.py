"""Cell files: a complete cell with its state, format `robot_cell/1`."""
