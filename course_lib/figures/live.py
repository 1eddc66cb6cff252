"""The same exploration as ipywidgets, where a kernel runs."""

from course_lib.figures.page import css, label

VIEW = "application/vnd.jupyter.widget-view+json"


def live_view(explorer) -> dict:
    """The widget part of the output's bundle; empty without a kernel or without ipywidgets."""
    try:
        from IPython import get_ipython

        if getattr(get_ipython(), "kernel", None) is None:
            return {}
        import ipywidgets
    except ImportError:
        return {}
    return {VIEW: widget(explorer, ipywidgets)._repr_mimebundle_()[VIEW]}


def widget(explorer, widgets):
    """Sliders, menus and checkboxes over one picture; `widgets` is the ipywidgets module."""
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
