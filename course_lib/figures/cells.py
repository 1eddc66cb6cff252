"""`cells`: a control for `play`, a grid of cells that a click turns on and off."""

from itertools import chain


def cells(rows: str):
    """A grid of buttons whose value is a text, a row a word: "1" for a cell that is on, "0" for one that is off.

    >>> from course_lib.figures import cells
    >>> cells("10 11").value
    '10 11'
    """
    from ipywidgets import GridBox, Layout, ToggleButton, ValueWidget

    class Cells(GridBox, ValueWidget):
        pass

    words = rows.split()
    if {*map(len, words)} != {len(words[0])} or not {*"".join(words)} <= {*"01"}:
        raise ValueError(f"expected rows of equally many zeros and ones, got {rows!r}. Write cells('10 11').")
    square = Layout(width="2.25em", margin="1px", padding="0")
    buttons = [[ToggleButton(cell == "1", description=cell, layout=square) for cell in word] for word in words]
    columns = f"repeat({len(words[0])}, max-content)"
    grid = Cells([*chain(*buttons)], layout=Layout(grid_template_columns=columns))
    grid.value = " ".join(words)

    def read(_change) -> None:
        for button in grid.children:
            button.description = "01"[button.value]
        grid.value = " ".join("".join(button.description for button in row) for row in buttons)

    for button in grid.children:
        button.observe(read, "value")
    return grid
