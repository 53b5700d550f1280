# Every target sets up what it needs by itself; a set-up that is up to date costs a fraction of a second.
.DEFAULT_GOAL := help
.PHONY: translations help setup test check soak format notes docs traces figures demo demo-hosts chat screenshots mutants seeds bench lock clean

BIN := .venv/bin
CODE := gcom registry chat_gui tests
# Many tests wait for real time to pass, and leave their processor to others meanwhile (tests/sharing.py). By
# a model of what each test computes and waits, 3 more workers than processors leave two of these idle for two fifths of
# `make test`, and 5 more for a quarter; `make check` computes more.
MORE := 3
test: MORE := 5
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + $(MORE))
PARALLEL = -n $(WORKERS) --maxprocesses 8 --dist loadgroup
MUTANTS = $(BIN)/python -m pytest -q -rP -m soak $(PARALLEL) tests/sim/test_mutants.py
INPUT ?=
PYTHON ?=
export PYTHON
# Each worker and each process that a test starts would compile all sources again: a third of `make check`.
export PYTHONDONTWRITEBYTECODE :=

help: ## print this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

setup: ## Java, .venv and the locked packages; nothing else needs to be there but Python 3.11 or newer
	@sh .ci/setup.sh

test: setup ## every test that is not for soak, in a few minutes
	@$(BIN)/python -m pytest $(PARALLEL)

# The types are judged beside the tests, and what mypy says is printed when both are done, where it is seen.
check: setup ## format, lint, types and the fast tests, of each table of cases two, in some four minutes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@said=$$(mktemp); $(BIN)/mypy >$$said 2>&1 & types=$$!; status=0; \
		$(BIN)/python -m pytest -q -m "not slow and not soak" --cases 2 --hypothesis-profile=quick $(PARALLEL) || status=$$?; \
		wait $$types || status=$$?; cat $$said; rm -f $$said; exit $$status

soak: setup ## what takes hours to find a little: fresh seeds, long sweeps and troubles, many examples, every hunt for a mutant
	@status=0; $(BIN)/python -m pytest -m "soak or hypothesis" --hypothesis-profile=soak --ignore=tests/sim/test_mutants.py $(PARALLEL) || status=$$?; \
		$(MUTANTS) || status=$$?; exit $$status

format: setup ## bring the code into the format that check asks for
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

notes: setup ## write the state tables of docs/protocols, and the tree in docs/ARCHITECTURE.md, from the code
	@$(BIN)/python -m tests.tables

docs: setup ## build the documentation as a site in build/docs; a warning or a broken link is an error
	@$(BIN)/python -m sphinx --quiet -W --keep-going -j auto -b html docs build/docs
	@$(BIN)/python -m tests.links build/docs
	@echo "the site is in build/docs: open build/docs/index.html in a browser"

translations: setup ## bring the chat's texts up to date in chat_gui/gcom_chat/translations; translate what is unfinished there, and run it again
	@$(BIN)/pyside6-lupdate -no-obsolete -locations none $$(find chat_gui -name '*.py' | sort) -source-language en -target-language de -ts chat_gui/gcom_chat/translations/gcom-chat_de.ts
	@$(BIN)/pyside6-lrelease chat_gui/gcom_chat/translations/gcom-chat_de.ts -qm chat_gui/gcom_chat/translations/gcom-chat_de.qm

traces: setup ## play the golden traces of tests/traces, and write what comes out, and its pictures; look at the diff
	@$(BIN)/python -m tests.traces
	@$(BIN)/python -m tests.diagrams

figures: setup ## count files, lines, comments, and the calls that one message costs
	@$(BIN)/python -m tests.figures

demo: setup ## members as processes, text through a group for each ordering, then the audit by Spark; INPUT="f1 f2 f3" for other text, VERBOSE=1 for tables
	@$(BIN)/gcom demo $(if $(VERBOSE),--verbose) $(INPUT)
	@$(BIN)/gcom audit gcom-demo --spark --report gcom-demo.html $(if $(VERBOSE),--verbose,--quiet)

demo-hosts: setup ## two registries and three members on hosts of their own (network namespaces, as root), through a bad day, then the audit
	@$(BIN)/python -m tests.hosts.demo

chat: setup ## the desktop chat, with a registry and companions of its own: nothing else is needed
	@$(BIN)/gcom-chat --demo

screenshots: setup ## pictures of every window of the chat, into docs/pictures
	@$(BIN)/python -m tests.chat_gui.screenshots

mutants: setup ## break the core in one place at a time; each must be caught, by the first seed of many that does
	@$(MUTANTS)

seeds: setup ## record for each mutant the seed that catches it, where the recorded one no longer does
	@$(BIN)/python -m tests.sim.mutants.record

bench: setup ## throughput beside bare Pyro5 frames
	@$(BIN)/gcom bench throughput --ordering FIFO --multicast reliable --members 3 --senders 3 --size 100 --seconds 10 --baseline frames

PIN := uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links

lock: setup ## choose the newest versions that pyproject.toml allows; write all extras' to one lock, and a registry's, with hashes, to another
	$(BIN)/$(PIN) --upgrade --all-extras --output-file .ci/requirements.lock pyproject.toml
	echo hatchling | $(BIN)/$(PIN) --upgrade --generate-hashes --constraint .ci/requirements.lock \
		--output-file .ci/registry.lock pyproject.toml -

clean: ## remove what the other targets made, .venv too
	rm -rf .venv build dist gcom-demo gcom-demo.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
