"""An auditor of certified motions and plans that shares no code with the audited library.

It reads cell files, URDF and SRDF itself, as docs/cell_file.md and docs/collision.md describe them, has kinematics from
Pinocchio and distances from coal, on geometry that it builds from the same files. Only `cells` and `generate` use the
audited library: they make cells, motions and plans, which the auditor receives as numbers alone.
"""
