"""The same exploration as ipywidgets, where a kernel runs."""


def live_view(explorer) -> dict:
    """The widget part of the output bundle; empty without ipywidgets or without a kernel."""
    try:
        from IPython import get_ipython
    except ImportError:
        return {}
    if getattr(get_ipython(), "kernel", None) is None:
        return {}
    try:
        import ipywidgets
    except ImportError:
        return {}
    view = "application/vnd.jupyter.widget-view+json"
    return {view: _widget(explorer, ipywidgets)._repr_mimebundle_()[view]}


def _widget(explorer, widgets):
    from course_lib.figures.explore import _label
    from course_lib.figures.page import css

    controls = []
    for (name, options), at in zip(explorer.choices.items(), explorer.start, strict=True):
        common = {"description": name, "style": {"description_width": "initial"}}
        if isinstance(options[0], bool):
            controls.append(widgets.Checkbox(value=options[at], indent=False, description=name))
            continue
        kind = widgets.Dropdown if isinstance(options[0], str) else widgets.SelectionSlider
        labels = [(_label(option), number) for number, option in enumerate(options)]
        controls.append(kind(options=labels, value=at, **common))
    picture = widgets.HTML()

    def update(_=None):
        at = [
            options.index(control.value) if isinstance(options[0], bool) else control.value
            for control, options in zip(controls, explorer.choices.values(), strict=True)
        ]
        html, _text = explorer.frames[explorer.index(at)]
        picture.value = f'<div class="course-figure">{css("figure")}{html}</div>'

    for control in controls:
        control.observe(update, names="value")
    update()
    return widgets.VBox([*controls, picture])
