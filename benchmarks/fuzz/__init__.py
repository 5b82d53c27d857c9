"""Random and hostile messages for every service, action and topic of all nodes, over DDS, in processes of their own."""

from .attack import Attack, Findings
from .cell import NODES, Cell, cell_of_nodes

__all__ = ["NODES", "Attack", "Cell", "Findings", "cell_of_nodes"]
