from .srdf_generator import Draft as Draft
from .srdf_generator import DraftOptions as DraftOptions
from .srdf_generator import draft_robot as draft_robot
