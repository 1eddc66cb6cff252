"""Cut the font of formulas to the letters and signs that formulas use: `python -m tools.formula_font PACKAGE.tgz`.

It is called Course Math, a name that no installed font has: STIX Two Math 2.13 with its measures for fractions, roots,
and brackets, as in the npm package `@fontsource/stix-two-math` 5.3.0, under the SIL Open Font License 1.1 (beside it).
This cuts it anew, always to the same bytes:

    npm pack @fontsource/stix-two-math@5.3.0
    .venv/bin/python -m tools.formula_font fontsource-stix-two-math-5.3.0.tgz
"""

import io
import string
import sys
import tarfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from tools.fonts import LICENSE, PAGE_FONTS

NAME = "Course Math"
PATH = PAGE_FONTS / "CourseMath-Regular.woff"
SOURCE = "package/files/stix-two-math-latin-400-normal.woff"
GREEK = [*range(0x391, 0x3AA), *range(0x3B1, 0x3CA), 0x3F5]
# A browser draws a single letter in italics: from the block of mathematical letters, where h stands elsewhere.
ITALIC = [*range(0x1D434, 0x1D468), 0x210E, *range(0x1D6E2, 0x1D71C)]
SIGNS = "·×÷±−′″…⋯ℓℝ∂∇∈∉∏∑∫∞∣∥≈≠≡≤≥≪≫∘⊙⊕⊗⊤⊥→←↦⇒√∼∝∀∃⏞⏟ˆ˜¯⌊⌋⌈⌉⟨⟩‖\u00a0\u2061\u2062"


def cut(font: TTFont) -> TTFont:
    """The font with these letters, and the larger forms of brackets and roots, under its own name."""
    options = subset.Options(layout_features=["ssty", "math"], hinting=False, notdef_outline=True, name_IDs=[0])
    options.drop_tables += ["DSIG", "GPOS", "STAT", "gasp"]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[*map(ord, string.printable + SIGNS), *GREEK, *ITALIC])
    cutter.subset(font)
    narrow_roots(font)
    for number, name in {1: NAME, 2: "Regular", 3: "CourseMath", 4: NAME, 6: "CourseMath", 13: LICENSE}.items():
        font["name"].setName(name, number, 3, 1, 0x409)
    return font


def narrow_roots(font: TTFont) -> None:
    """The taller roots as wide as the lowest: Chromium leaves room for the widest of them behind every root."""
    variants = font["MATH"].table.MathVariants
    root = font.getBestCmap()[ord("√")]
    width, _ = font["hmtx"][root]
    forms = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    forms.GlyphAssembly = None  # roots as high as a page, put together from pieces
    for variant in forms.MathGlyphVariantRecord:
        wide, bearing = font["hmtx"][variant.VariantGlyph]
        glyph = font["glyf"][variant.VariantGlyph]
        glyph.coordinates.scale((width / wide, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][variant.VariantGlyph] = (width, round(bearing * width / wide))


def main() -> int:
    with tarfile.open(Path(sys.argv[1])) as archive:
        data = archive.extractfile(SOURCE).read()
        (PAGE_FONTS / "CourseMath-OFL.txt").write_bytes(archive.extractfile("package/LICENSE").read())
    font = cut(TTFont(io.BytesIO(data), recalcTimestamp=False))
    font.flavor = "woff"
    font.save(PATH)
    print(f"{PATH.name}: {len(font.getGlyphOrder())} forms, {PATH.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
