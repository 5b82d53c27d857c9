from .compas.reading import import_compas as import_compas
from .compas.writing import CompasFiles as CompasFiles
from .compas.writing import export_compas as export_compas
from .imported_cell import ImportedCell as ImportedCell
from .moveit.reading import import_moveit as import_moveit
from .moveit.scene_writing import MoveItScene as MoveItScene
from .moveit.scene_writing import export_moveit_scene as export_moveit_scene
