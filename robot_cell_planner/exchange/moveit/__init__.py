"""Configuration packages of MoveIt as cells."""
