# KVRM: make demo builds the machine and runs a program on it; make test runs the tests. Both install what is missing.
.DEFAULT_GOAL := help
BUILD := build
JOBS := $(shell nproc)
VENV := $(BUILD)/venv
FUZZ_SECONDS := 1800
PREFIX = $(HOME)/.local
PACKAGES := build-package
# ptxas takes minutes for each cubin: a build for this machine assembles for its own GPU, packages for all of these.
CUBINS := native
PACKAGE_CUBINS := 80;86;89;90

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: setup-build program ## Set up, build, and run a program on every engine that is here
	@tools/demo.py $(BUILD)/kvrm

install: setup-build binary ## Set up, build, and install below PREFIX (~/.local)
	cmake --install $(BUILD) --prefix "$(PREFIX)"

test: setup-test build-all ## Set up, build, and run the tests (under 20 minutes on two cores)
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) -LE 'full|^gpu$$'

check: setup-test ## The unit and structure tests, without GPU code (under 5 minutes from a warm build)
	cmake --preset check
	cmake --build --preset check -j $(JOBS)
	ctest --preset check -j $(JOBS)

test-full: setup-test build-all ## All tests, the long suites included
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) -E '_quick$$'

test-gpu: setup-test build-all ## The tests of a GPU; skipped where there is none
	test -e $(BUILD)/gpu-carry/programs.tar.xz || tests/gpu/carry.py --build $(BUILD) --only oracle,programs
	tests/gpu/carry.py --build $(BUILD) --only tools
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -L '^gpu$$'

# The wheel is built in the same folder. With another Python the sources would be generated and assembled again.
package: setup-package python-packages ## Build a .deb, a .tar.gz and a wheel into build-package/packages
	cmake --preset package "-DKVRM_CUBINS=$(PACKAGE_CUBINS)" "-DPython3_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python"
	cmake --build --preset package -j $(JOBS)
	rm -rf $(PACKAGES)/packages
	cd $(PACKAGES) && cpack
	$(VENV)/bin/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w $(PACKAGES)/packages \
	  -C build-dir=$(PACKAGES) -C "cmake.define.KVRM_CUBINS=$(PACKAGE_CUBINS)" .
	@ls -l $(PACKAGES)/packages

test-package: package ## Install the packages into fresh Debian roots and run programs there
	tests/install/package_test.py --packages $(PACKAGES)/packages

asan: setup-test ## Unit tests under the address and undefined behavior sanitizers
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(JOBS)

tsan: setup-test ## Unit tests under the thread sanitizer
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

fuzz: setup-test ## Fuzz words, ELF files, system calls and lanes that share a root for half an hour (FUZZ_SECONDS)
	tests/fuzz/run.sh $(FUZZ_SECONDS)

bench: setup-bench program ## Measure against qemu-aarch64 and native code
	python3 bench/run.py --kvrm $(BUILD)/kvrm $(BENCH_OPTIONS)

bench-gpu: setup-bench program ## Measure a GPU: single lanes, lockstep, fleets (BENCH_OPTIONS="--parts one,start")
	python3 bench/gpu.py --kvrm $(BUILD)/kvrm --json $(BUILD)/bench/gpu.json $(BENCH_OPTIONS)

reference: ## Write docs/reference/command-line.md from --help again
	test -x $(BUILD)/kvrm || $(MAKE) program
	cmake --build $(BUILD) -j $(JOBS) --target kvrm_cli
	python3 tools/help_reference.py --kvrm $(BUILD)/kvrm --out docs/reference/command-line.md

coverage: build-all ## Write docs/coverage.md again
	python3 tools/coverage.py --table $(BUILD)/generated/isa/a64.json --out docs/coverage.md

format: ## Format the sources
	git ls-files '*.h' '*.cpp' ':!*/guests/*' | xargs clang-format-19 -i

tidy: build-all ## Check the sources with clang-tidy
	git ls-files 'src/*.cpp' 'cli/*.cpp' | xargs clang-tidy-19 -p $(BUILD) --quiet

clean: ## Remove what was built
	rm -rf $(BUILD) $(PACKAGES) build-check build-dev build-asan build-tsan build-fuzz build-count build-wheel

setup-build setup-test setup-bench setup-package: setup-%:
	@tools/setup.sh $*

python-packages:
	@tools/python_packages.sh $(VENV)

# The program alone; binary has what is installed beside it, too.
program:
	cmake --preset release -DKVRM_BUILD_TESTS=OFF -DKVRM_SHARED=OFF "-DKVRM_CUBINS=$(CUBINS)"
	cmake --build --preset release -j $(JOBS)

binary:
	cmake --preset release -DKVRM_BUILD_TESTS=OFF -DKVRM_SHARED=ON "-DKVRM_CUBINS=$(CUBINS)"
	cmake --build --preset release -j $(JOBS)

build-all: python-packages
	cmake --preset release -DKVRM_BUILD_TESTS=ON -DKVRM_SHARED=ON -DKVRM_CUBINS=90 -DKVRM_LINKABLE=ONLY -DKVRM_PYTHON=ON "-DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python"
	cmake --build --preset release -j $(JOBS)

.PHONY: help demo install check test package test-package reference program setup-package test-full test-gpu asan tsan fuzz bench bench-gpu coverage format tidy clean setup-build setup-test setup-bench python-packages binary build-all
