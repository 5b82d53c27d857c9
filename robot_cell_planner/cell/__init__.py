"""The robot cell: models that change rarely, states that are values, and the files both come from."""
