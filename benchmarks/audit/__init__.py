"""An auditor of certified motions and plans that shares no code with what it audits.

It reads cell files, URDF and SRDF itself, as docs/cell_file.md and docs/collision.md describe them, has kinematics from
Pinocchio and distances from coal, on geometry that it builds from the same files. `cells` and `generate` alone use the
library that is audited: they make cells, motions and plans, of which the auditor gets nothing but numbers.
"""
