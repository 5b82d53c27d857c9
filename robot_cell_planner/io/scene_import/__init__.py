"""Scenes from other formats: SDFormat models and worlds, MoveIt scenes, bare robot descriptions."""
