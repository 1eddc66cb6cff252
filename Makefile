# Every habit of the project is a target here: `make help` lists them.
PYTHON ?= python3
VENV := .venv
RUN := PYTHONPATH= $(VENV)/bin/python
NOTEBOOKS ?=

.DEFAULT_GOAL := help

notebooks:  ## re-run every chapter and store its outputs (NOTEBOOKS=chapters/05_masks.ipynb: only that one)
	@$(RUN) -m tools.notebooks $(NOTEBOOKS)

.PHONY: notebooks
