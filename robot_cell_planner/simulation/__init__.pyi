from .options import SimulationOptions as SimulationOptions
from .simulated_cell import SimulatedCell as SimulatedCell
