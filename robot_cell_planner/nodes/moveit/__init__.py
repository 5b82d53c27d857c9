"""The interfaces of MoveIt, served by the nodes of the cell."""
