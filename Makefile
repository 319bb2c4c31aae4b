# Everyday commands. `sh setup.sh demo` and `sh setup.sh test` install what they need first and then come here.

BIN := $(if $(wildcard .venv/bin/python),.venv/bin/)

.DEFAULT_GOAL := help
.PHONY: bench bench-boards bench-choices bench-compare bench-compiled bench-control bench-depth bench-embedded bench-endurance bench-engine bench-entries bench-ethernet bench-ethernet-host bench-factors bench-formats bench-frames bench-functions bench-further bench-golden bench-gpu bench-host bench-layouts \
	bench-logic bench-microcontroller bench-package bench-ranges bench-resident bench-robots bench-software bench-speed bitstreams clean coverage demo docs figures format fuzz help lint test thorough zoo

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Programs that tests start share the bytecode of this checkout, also where the environment forbids Python to write it:
# each of hundreds would compile the same files again.
test thorough lint coverage: export PYTHONDONTWRITEBYTECODE =

# A file's tests stay on one worker, which keeps their designs.
PYTEST := $(BIN)python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: ## Run the tests, in ten minutes
	$(PYTEST)

thorough: ## Run further tests: slow ones, and more sizes, robots and intervals of what `make test` has; PART=2/5: a part of them
	$(PYTEST) -m 'slow or thorough' -p tests.parts --part $(or $(PART),1/1)

coverage: ## Run the tests, print branch coverage; twice the time of `make test`
	$(PYTEST) -p tests.branches

fuzz: ## Try random robots, files, bytes and streams; HOURS=1 says how long
	$(BIN)python -m tests.fuzz --hours $(or $(HOURS),1)

zoo: ## Check the golden model on sixty public robots (a download of 130 MB); MENAGERIE=DIR: and on MJCF files in DIR
	$(BIN)python -m pip install --quiet -e '.[zoo]'
	$(BIN)python -m pytest tests/golden/test_zoo.py
	$(BIN)python bench/zoo.py $(if $(MENAGERIE),--menagerie $(MENAGERIE))

demo: ## Generate an accelerator for a 7-joint arm and simulate 1000 tasks
	$(BIN)rbdgen simulate iiwa14 --functions id --ii 1 --tasks 1000

docs: ## Build the documentation into build/docs, and run its examples
	$(BIN)python -m sphinx -q -W -b html docs build/docs
	$(BIN)python -m sphinx -q -W -b doctest docs build/doctest

bench: ## Measure accelerators for inverse dynamics
	$(BIN)python bench/spine.py

bench-choices: ## Measure what the tool chooses by itself; a quarter of an hour
	$(BIN)python bench/choices.py

bench-depth: ## Measure the latency of serial chains by their length; half an hour
	$(BIN)python bench/depth.py

bench-logic: ## Measure logic: by the model, by synthesis, in RTL simulation; two hours
	$(BIN)python bench/logic.py

bench-package: ## Measure installing the wheel, and how soon commands answer; minutes
	$(BIN)python bench/package.py

bench-ranges: ## Measure whether declared ranges hold, and what they cost; an hour
	$(BIN)python bench/ranges.py

bench-frames: ## Simulate functions of frames, contacts, loops and steps; a quarter of an hour
	$(BIN)python bench/frames.py

bench-robots: ## Simulate robots as their files have them; half an hour (MENAGERIE: a checkout of MuJoCo's)
	$(BIN)python -m pip install --quiet -e '.[zoo]'
	$(BIN)python bench/robots.py $(if $(MENAGERIE),--menagerie $(MENAGERIE))

bench-endurance: ## Simulate a million mixed tasks of each built-in robot under stalls; half an hour
	$(BIN)python bench/endurance.py

bench-ethernet: ## Measure tasks per second over a simulated gigabit wire; half an hour
	$(BIN)python bench/ethernet.py

bench-resident: ## Measure loading of robots into engines that are on a board; some minutes
	$(BIN)python bench/resident.py

bench-embedded: ## Measure engines beside a processor: logic, code, cycles of a call; half an hour
	$(BIN)python bench/embedded.py

bench-microcontroller: ## Count instructions of a call on a microcontroller; a minute (needs gcc-arm-none-eabi)
	$(BIN)python bench/microcontroller.py

bench-engine: ## Measure engines: programs, errors, RTL simulation, synthesis, area; an hour
	$(BIN)python bench/engine.py --route

bench-entries: ## Measure errors of every entry on eight robots, and what they cost; half an hour
	$(BIN)python bench/entries.py

bench-speed: ## Measure the compiler's time and memory; half an hour
	$(BIN)python bench/speed.py

bench-layouts: ## Measure layouts for budgets, folding and sharing; an hour
	$(BIN)python bench/layouts.py

bench-further: ## Simulate functions beside the seven on an arm and a quadruped; an hour
	$(BIN)python bench/further.py

bench-functions: ## Measure accelerators for all seven functions; an hour
	$(BIN)python bench/functions.py

bench-formats: ## Measure formats from error targets; half an hour
	$(BIN)python bench/formats.py

bench-software: ## Measure the C of functions beside Pinocchio's C++ (ROBOTS: more of them, as FILE:BASE)
	$(BIN)python -m pip install --quiet -e '.[bench]'
	$(BIN)python bench/software.py $(or $(ROBOTS),iiwa14:fixed)

bench-compiled: ## Measure compiled functions from Python, and fixed-point C
	$(BIN)python bench/compiled.py

bench-control: ## Solve Crocoddyl's problems with an accelerator's derivatives beside Pinocchio's; minutes
	$(BIN)python bench/control.py

bench-boards: ## Build bitstreams, measure clocks, resources and links; hours
	$(BIN)python bench/boards.py

bench-factors: ## Measure what multiplexers before multipliers choose among; half an hour
	$(BIN)python bench/factors.py

bench-golden: ## Measure the golden model beside Pinocchio
	$(BIN)python bench/golden.py

bench-gpu: ## Measure CUDA kernels: what they take, and times where there is a GPU; minutes
	$(BIN)python bench/gpu.py

bench-host: ## Measure the host's side of a call, in Python and C
	$(BIN)python bench/host_side.py

bench-ethernet-host: ## Measure the host's side of Ethernet: a network with faults, and its own time; minutes
	$(BIN)python bench/ethernet_host.py

bench-compare: ## Measure the time of comparisons and sweeps; half an hour
	$(BIN)python bench/comparing.py

figures: ## Measure the code itself: density, complexity, import cycles
	$(BIN)python bench/structure.py

lint: ## Show what lint, format, type checker, import rules and limits of density and complexity object to
	$(PYTEST) --dist load -m lint tests/project

format: ## Format the code, mend what can be mended
	$(BIN)python -m ruff check --fix .
	$(BIN)python -m ruff format .

bitstreams: ## Make the package of all boards' bitstreams in build/bitstreams, netlists verified; hours
	$(BIN)python boards/bitstreams.py -o build/bitstreams

clean: ## Remove what builds and tests left, but not .venv
	rm -rf build dist sim_build .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
