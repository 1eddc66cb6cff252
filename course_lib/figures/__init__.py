"""What draws: plots, heat maps, interactive figures, the attention view. It knows arrays and strings, never models."""

from course_lib.figures.attention_view import attention_view
from course_lib.figures.bars import bars
from course_lib.figures.cells import cells
from course_lib.figures.display import show
from course_lib.figures.explore import explore
from course_lib.figures.heatmap import heatmap, heatmaps
from course_lib.figures.lines import lines
from course_lib.figures.machine import machine
from course_lib.figures.play import play
from course_lib.figures.plots import in_numbers
from course_lib.figures.shapes import box, shapes
from course_lib.figures.style import ACCENT, EXTRA, INK, KEY, MASK, PALETTE, QUERY, VALUE, apply_style, new_figure
