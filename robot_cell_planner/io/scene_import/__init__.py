"""Import of scenes in other formats: SDFormat models and worlds, MoveIt scenes, robot descriptions."""
