"""Sphinx extension: a page without what it would hold twice, or what nobody sees.

* Code spans that have the color of the code around them are left out.
* Style sheets of figures and quizzes stand once, at the beginning; a script that stands often is written down once.
* Scripts of the frame wait until the page is read: they do nothing before.
* The theme asks all blocks of code whether they need a scroll bar, and the browser must lay out all that is folded or
  far away to say so. Here the blocks in closed folds are asked once they are open, and others once they are laid out.
* What would be one long task for the browser is several: buttons that copy come a few at a time, each part of the
  theme's script has a turn of its own, and at each section of a chapter or of the pitfalls the reading rests.
* A button of the frame that was pressed by key keeps the focus, and a drawer gives it back.
* Of the theme's 1,900 icons the style sheet keeps those that are used; files that no page loads are not in the book.
"""

import re
from collections import Counter
from pathlib import Path
from zlib import crc32

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
STYLE = re.compile(r"<svg\b.*?</svg>|(<style>.*?</style>)", re.DOTALL)
ICON = re.compile(r"(?:\.fa-[\w-]+::?before,?)+\{content:[^}]*\}")
TABS = re.compile(r"(document\.querySelectorAll\([^()]*\.join\([^()]*\)\))(\.forEach\(\w+=>\{\w+\.tabIndex=)")
BLURRED = re.compile(r"\(\(\)=>\{(\w+)\.blur\(\)\}\)")
COPIED = re.compile(
    r"codeCells\.forEach\(\(codeCell, index\) => \{(.+?insertAdjacentHTML\('afterend', [^)]*\)\)\n)  \}\)", re.DOTALL
)
READY = re.compile(r'("loading"!=document\.readyState\?)(\w+)\(\):')
REST = '<script src="data:text/javascript,"></script>'
RESTS = re.compile(
    r'<section class="course-later" id="[^"]*">(?=\s*<h2)|<summary>\s*<h2(?:(?!</?summary>).)*</summary>', re.DOTALL
)
AGAIN = re.compile(r'(window\.addEventListener\("resize",(\w+)\))(,new MutationObserver\(\2\))')
SCRIPT = re.compile(r"<script>(.+?)</script>", re.DOTALL)


def lighter(body: str) -> str:
    """The same page in fewer bytes.

    >>> lighter('<style>a</style><p><style>a</style><span class="n">x</span></p>')
    '<style>a</style><p>x</p>'
    >>> lighter("<svg><style>a</style></svg>")  # it also stands where the picture is taken out of the page
    '<svg><style>a</style></svg>'
    >>> lighter("<script>f()</script> <script>f()</script>")
    '<script>window.course2901694534 = () => {f()}; course2901694534()</script> <script>course2901694534()</script>'
    """
    styles = dict.fromkeys(STYLE.findall(body))  # "" where it is a picture
    body = PLAIN.sub(r"\1", STYLE.sub(lambda found: "" if found[1] else found[0], body))
    for text, times in Counter(SCRIPT.findall(body)).items():
        if times > 1:
            name = f"course{crc32(text.encode())}"
            first, *rest = body.split(f"<script>{text}</script>")
            body = f"<script>{name}()</script>".join(rest)
            body = f"{first}<script>window.{name} = () => {{{text}}}; {name}()</script>{body}"
    return "".join(styles) + body


def rested(body: str) -> str:
    """The same page, where a browser ends its task at each section: it waits for a script, of which nothing comes.

    >>> rested('<section class="course-later" id="a"><h2>A</h2></section>').count("script")
    3
    >>> rested("<details><summary><h2>A</h2></summary>a</details><p>").partition(REST)[2]
    'a</details><p>'
    """
    return RESTS.sub(lambda found: found[0] + REST, body)


def later(script):
    """A script of the frame that runs when the page is read; what scripts in the page ask for is there at once."""
    if not script.filename or "documentation_options" in script.filename:
        return script
    return type(script)(script.filename, priority=script.priority, **{"defer": "defer", **script.attributes})


def shorten(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if app.builder.name == "html":
        context["body"] = rested(lighter(context.get("body", "")))
    if app.builder.name == "html" and page != "search":  # search begins with a script of its own
        context["script_files"] = list(map(later, context.get("script_files", ())))


def keep_icons(sheet: str, used: str) -> str:
    """The style sheet with the icons that are used alone.

    >>> keep_icons(r'.fa-bars:before,.fa-navicon:before{content:"a"}.fa-0:before{content:"b"}', "fa-lg fa-bars")
    '.fa-bars:before,.fa-navicon:before{content:"a"}'
    """
    names = set(re.findall(r"\bfa-[\w-]+", used))
    return ICON.sub(lambda rule: rule[0] if names & set(re.findall(r"fa-[\w-]+", rule[0])) else "", sheet)


def without_folds(script: str) -> str:
    """The theme's script, which sets `tabIndex` where a block is wider than its place, in folds that are open alone.

    >>> text = 'e("loading"!=document.readyState?e():f);'
    >>> text += 'document.querySelectorAll(["pre"].join(",")).forEach(e=>{e.tabIndex=0});'
    >>> text += 'window.addEventListener("resize",t),new MutationObserver(t)'
    >>> ready, folds, toggled = without_folds(text).split(";")
    >>> print(folds)
    [...document.querySelectorAll(["pre"].join(","))].filter(e=>!e.closest("details:not([open]),.course-later:not(.course-laid)")).forEach(e=>{e.tabIndex=0})
    >>> print(ready)
    e("loading"!=document.readyState?setTimeout(e):f)
    >>> print(toggled)
    window.addEventListener("resize",t),document.addEventListener("toggle",t,!0),new MutationObserver(t)
    """
    hidden = "details:not([open]),.course-later:not(.course-laid)"
    script, blocks = TABS.subn(rf'[...\1].filter(e=>!e.closest("{hidden}"))\2', script)
    script, events = AGAIN.subn(r'\1,document.addEventListener("toggle",\2,!0)\3', script)
    script, parts = READY.subn(r"\1setTimeout(\2):", script)
    if (blocks, events, parts) != (1, 1, 1):
        raise ExtensionError("expected one place in pydata-sphinx-theme.js that sets tabIndex: is it another one?")
    return script


def keep_focus(script: str) -> str:
    """The book theme's script, which takes the focus from a button that was pressed, where a pointer pressed it alone.

    That of Python 3.10, an older one, takes it never.

    >>> keep_focus('t.addEventListener("click",(()=>{t.blur()}),!0)')
    't.addEventListener("click",(event=>{event.detail&&t.blur()}),!0)'
    """
    script, times = BLURRED.subn(r"(event=>{event.detail&&\1.blur()})", script)
    if times != 1 and "blur" in script:
        raise ExtensionError("expected one place in sphinx-book-theme.js that takes the focus: is it another one?")
    return script


def by_and_by(script: str) -> str:
    """The script that adds a button to each block of code, twenty blocks a task.

    >>> add = "codeCell.insertAdjacentHTML('afterend', button(id))"
    >>> print(by_and_by(f"codeCells.forEach((codeCell, index) => {{\\n    {add}\\n  }})"))
    const offer = (from) => {
      [...codeCells].slice(from, from + 20).forEach((codeCell, nth) => {
        const index = from + nth
        codeCell.insertAdjacentHTML('afterend', button(id))
      })
      if (from + 20 < codeCells.length) setTimeout(offer, 0, from + 20)
    }
    offer(0)
    """

    def slices(found: re.Match) -> str:
        return (
            "const offer = (from) => {\n  [...codeCells].slice(from, from + 20).forEach((codeCell, nth) => {\n"
            f"    const index = from + nth{found[1]}  }})\n"
            "  if (from + 20 < codeCells.length) setTimeout(offer, 0, from + 20)\n}\noffer(0)"
        )

    script, times = COPIED.subn(slices, script)
    if times != 1:
        raise ExtensionError("expected one place in copybutton.js that adds buttons: is it another one?")
    return script


CHANGED = {
    "scripts/pydata-sphinx-theme.js": without_folds,
    "scripts/sphinx-book-theme.js": keep_focus,
    "copybutton.js": by_and_by,
}


def leave_out(app: Sphinx, problem: Exception | None) -> None:
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    sheet = static / "styles" / "pydata-sphinx-theme.css"
    if problem is None and app.builder.name == "html" and sheet.exists():
        for path in {*static.rglob("*.map"), *static.glob("scripts/fontawesome.js*"), *static.glob("*macros.html")}:
            path.unlink()
        used = (path.read_text(encoding="utf-8") for path in [*out.rglob("*.html"), *static.rglob("*.js")])
        for name, change in CHANGED.items():
            if (script := static / name).exists():
                script.write_text(change(script.read_text(encoding="utf-8")), encoding="utf-8")
        sheet.write_text(keep_icons(sheet.read_text(encoding="utf-8"), "".join(used)), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", shorten, priority=900)
    app.connect("build-finished", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
