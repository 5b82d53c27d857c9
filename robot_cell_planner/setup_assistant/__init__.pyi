from .cell_setup import NewCell as NewCell
from .cell_setup import NewCellOptions as NewCellOptions
from .cell_setup import new_cell as new_cell
from .check import check_cell as check_cell
from .draft import Draft as Draft
from .draft import draft_robot as draft_robot
from .finding import Finding as Finding
from .options import DraftOptions as DraftOptions
