# `make demo` and `make test` need only Python >= 3.11 and make: each builds its own virtual environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint bench format clean docs wheel test-wheel fuzz

demo: $(VENV)/.installed
	$(BIN)/thresher demo

test: lint
	$(BIN)/python -m pytest -n auto --dist loadgroup --cov

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site, in build/site. A broken link or an undocumented name fails it.
docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict --quiet

wheel: $(VENV)/.installed-docs
	rm -rf dist
	$(BIN)/python -m build --wheel --outdir dist

# The tests on the wheel, in an environment of their own that does not see src/.
test-wheel: wheel
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet "$$(ls dist/*.whl)[test]"
	build/wheel/bin/python -m pytest -n auto --dist loadgroup tests

# The property tests alone, with EXAMPLES examples of each in place of 100.
EXAMPLES ?= 10000
fuzz: $(VENV)/.installed-dev
	EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -m hypothesis --hypothesis-profile fuzz tests

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
