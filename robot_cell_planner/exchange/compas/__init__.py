"""Files of compas_fab: RobotCell and RobotCellState in the JSON form of COMPAS data, without COMPAS."""
