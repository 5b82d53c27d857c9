"""The table that a demonstration prints."""

from robot_cell_planner.nodes.client.run_record import COLUMNS, ON_PAGE


def test_no_heading_of_the_table_is_wider_than_its_column():
    assert [name for name, width, _ in COLUMNS if len(name) > width] == []
    assert set(ON_PAGE) <= {name for name, _, _ in COLUMNS}
