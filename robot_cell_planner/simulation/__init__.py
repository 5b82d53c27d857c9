"""A PyBullet simulation of a cell and its controllers."""
