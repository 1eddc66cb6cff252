# Every command of the project is a target here; `make` alone lists them. CONTRIBUTING.md says more.
PYTHON    ?= python3
NOTEBOOKS ?=
VERSIONS  ?= installed
URL       ?=
WORKS     ?=
STAGES    ?=
SINCE     ?=
FRESH     ?=
UPGRADE   ?=
NAME      ?=

VENV  := .venv
READY := $(VENV)/.ready
RUN   := PYTHONPATH= $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help book test quick lab live notebooks strict shake pitfalls sync lint format bench bundle pdf epub zip drawing models weights colab address pins new-exercise new-chapter clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

book: $(READY)  ## build the book from the stored outputs, and print where it is
	@$(RUN) -m tools.book

test: $(READY)  ## everything a change must pass (STAGES="lint gates unit exercises notebooks book browser": only these)
	@$(RUN) -m tools.stages $(addprefix --only ,$(STAGES)) $(addprefix --since ,$(SINCE))

quick: $(READY)  ## what a change touches, in a minute or two (SINCE=COMMIT: against another commit than main)
	@$(RUN) -m tools.quick $(addprefix --since ,$(SINCE))

lab: $(READY)  ## open your own copies of the chapters in JupyterLab (FRESH=05_masks: a new one beside the old)
	@$(RUN) -m tools.lab $(if $(FRESH),--fresh "$$FRESH")

live: $(READY)  ## serve the book on this machine, its cells alive: solve where you read
	@$(RUN) -m tools.live

notebooks: $(READY)  ## re-run chapters and store their outputs (NOTEBOOKS=chapters/05_masks.ipynb: only that one)
	@$(RUN) -m tools.notebooks $(NOTEBOOKS)

strict: $(READY)  ## re-run chapters and compare with the stored outputs (NOTEBOOKS=… as above)
	@$(RUN) -m tools.stages --only notebooks $(NOTEBOOKS)

shake: $(READY)  ## re-run chapters as other machines would; no stored output may change (NOTEBOOKS=… as above)
	@$(RUN) -m tools.shake $(NOTEBOOKS)

pitfalls: $(READY)  ## run the snippets of the pitfalls and store what they print
	@$(RUN) -m tools.pitfalls

sync: $(READY)  ## copy the library's definitions into the chapters' definition cells
	@$(RUN) -m tools.sync

lint: $(READY)  ## check style and format, of notebook code too
	@$(RUN) -m tools.stages --only lint

format: $(READY)  ## repair what lint refuses, in notebooks too; what is left is named
	@$(RUN) -m ruff check --fix --quiet; left=$$?; $(RUN) -m ruff format --quiet && exit $$left

bench: $(READY)  ## measure the library beside what a reader would otherwise use (WORKS="bleu bpe": only these)
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt
	@$(RUN) -m benchmarks $(WORKS)

bundle: $(READY)  ## pack the notebooks and the library into one file, for Colab or another machine
	@$(RUN) -m tools.bundle

pdf: $(READY)  ## print the whole book, with contents, links, and solutions (needs a Chromium)
	@$(RUN) -m tools.editions pdf

epub: $(READY)  ## the book for a reading device
	@$(RUN) -m tools.editions epub

zip: $(READY)  ## the book's pages in one file, to read without a server or a network
	@$(RUN) -m tools.editions zip

drawing: $(READY)  ## make the pictures anew that are made of the drawing of the Transformer (needs a Chromium)
	@$(RUN) -m tools.drawing

models: $(READY)  ## train the stored models anew and compare what they reach
	@$(RUN) -m tools.models

weights: $(READY)  ## fetch the weights of a real model, SmolLM2-135M (93 MB, license Apache-2.0)
	@$(RUN) -m course_lib.pretrained

colab: $(READY)  ## run chapters as Colab does: alone in a folder, package installed (VERSIONS=oldest|newest)
	@$(RUN) -m tools.colab --versions $(VERSIONS) $(NOTEBOOKS)

address: $(if $(URL),$(READY))  ## write the public address everywhere: make address URL=https://github.com/you/fork (or none)
	@$(if $(URL),$(RUN) -m tools.address "$$URL" && touch $(READY),$(PYTHON) -m tools.address)

# A pin stays as it is where nothing forces another; `make pins UPGRADE=--upgrade` looks for newer ones.
pins: $(READY)  ## write constraints.txt anew, for every Python and system (after a change of requirements.txt)
	@$(RUN) -m pip install --quiet --disable-pip-version-check uv==0.13.9
	@cat requirements.txt requirements-bench.txt | grep -v '^-' | $(VENV)/bin/uv pip compile - --quiet --universal \
		--python-version 3.10 --no-annotate --custom-compile-command 'make pins' $(UPGRADE) --output-file constraints.txt
	@touch $(READY)

new-exercise: $(READY)  ## lay out an exercise, and list what is open (NAME=masks.prefix)
	@$(RUN) -m tools.new exercise "$(NAME)"

new-chapter: $(READY)  ## lay out a chapter, and list what is open (NAME=sampling)
	@$(RUN) -m tools.new chapter "$(NAME)"

clean:  ## remove what was built (the book and caches), not the environment
	rm -rf _build build course_lib.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# One environment for everything. It is made again when it has no working pip, or when an upgrade took its Python away,
# and completed when a pin changes. pip writes RECORD last: a package without it was broken off half-way, and pip would
# take it for installed.
$(shell test -x $(VENV)/bin/python || rm -f $(READY))
ifeq ($(origin PYTHON),command line)
$(shell wanted=$$($(PYTHON) -V) && got=$$($(VENV)/bin/python -V 2>/dev/null) && test "$$wanted" != "$$got" && \
	echo "$(VENV) has $$got, not $$wanted: remove $(VENV) to have it made again." >&2)
endif
$(READY): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v <= (3, 14) else "expected Python 3.10 to 3.14, got %d.%d: run make PYTHON=python3.14 (or another of these)" % v)'
	@case "$$PWD" in *[\$$:]*) echo "expected a folder without \$$ and : in its path, got $$PWD: Python can install nothing there, so move the course" >&2; exit 1; esac
	@[ -d $(VENV) ] || [ ! -e $(VENV) ] || { echo "expected $(VENV) to be a folder, got a file: rename it, and the environment takes its place" >&2; exit 1; }
	@$(VENV)/bin/python -m pip --version >/dev/null 2>&1 || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	@for kept in $(VENV)/lib/python*/site-packages/*.dist-info; do [ -e "$$kept/RECORD" ] || rm -rf "$$kept"; done
	@echo "Installing the packages of requirements.txt into $(VENV): once, a few minutes."
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt || { \
		echo "expected to install the packages of requirements.txt, got what pip says above: with a network and room on the disk, the same command goes on from here" >&2; exit 1; }
	@touch $@
