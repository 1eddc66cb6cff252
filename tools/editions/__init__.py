"""The book as one file: `python -m tools.editions pdf`, `epub`, or `zip`.

fragments.py makes of each built page what paper shows; pdf.py, epub.py and site.py make the file.
"""
