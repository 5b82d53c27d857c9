"""Cell files: a whole cell and its state, format `robot_cell/1`."""
