"""The viewer node: a page on this computer that follows the cell, and from which people can act."""
