"""The same exploration as ipywidgets."""

from course_lib.figures.page import css, label


def widget(explorer):
    """Sliders, menus and checkboxes over one picture."""
    try:
        import ipywidgets as widgets
    except ImportError:
        raise ImportError(
            "expected the package ipywidgets, got none installed. "
            "Install it with `pip install ipywidgets`, or show the result of explore(…) itself: it needs no widgets."
        ) from None

    controls = []
    for (name, options), at in zip(explorer.choices.items(), explorer.start, strict=True):
        common = {"description": name, "style": {"description_width": "initial"}}
        if isinstance(options[0], bool):
            controls.append(widgets.Checkbox(value=options[at], indent=False, **common))
            continue
        kind = widgets.Dropdown if isinstance(options[0], str) else widgets.SelectionSlider
        labels = [(label(option), number) for number, option in enumerate(options)]
        controls.append(kind(options=labels, value=at, **common))
    picture = widgets.HTML()

    def update(_=None) -> None:
        html, _text = explorer.frames[explorer.number(int(control.value) for control in controls)]
        picture.value = f'<div class="course-figure">{css("figure")}{html}</div>'

    for control in controls:
        control.observe(update, names="value")
    update()
    return widgets.VBox([*controls, picture])
