# A thin front for Meson. `make deps` installs what targets need (scripts/setup); `make demo` and `make check` call it,
# the others say what is missing.

PREFIX     ?= /usr/local
DESTDIR    ?=
SECONDS    ?= 60
SOAK       ?= 3600
BENCH      ?= all
BENCH_ARGS ?=
FOR        ?= build

# Warnings are errors in CI, and only there: another compiler may know new ones.
# Kernels are for all chips and well compiled, said again here since `make check` builds them for one, in haste.
options = --prefix=$(PREFIX) $(if $(CI),-Dwerror=true,-Dwerror=false) -Dgpu_chips=80,90a -Dgpu_hasty=false

.DEFAULT_GOAL := build
.PHONY: build deps demo check check-long deb dist html gpu-check bench gpu-bench fuzz lint format wheel install clean help

build:
	@scripts/setup --look build
	@scripts/configure build $(options)
	@meson compile -C build

# Packages of the system when run as root, node's packages for the page: for `make build`, or another target.
deps:
	@scripts/setup $(FOR)

demo:
	@scripts/setup demo
	@scripts/configure build $(options)
	@meson compile -C build demo
	@scripts/demo

check:
	@scripts/setup check
	@scripts/check $(options)

check-long:
	@scripts/setup check-long
	@scripts/setup fuzz
	@GORDIAN_TEST_SCALE=1000 scripts/check $(options)
	@build/tests/threads/soak-shared $(SOAK)
	@[ -z "$(OPEN_POSIX)" ] || tests/run/conformance.py build/gordian "$(OPEN_POSIX)"
	@scripts/fuzz 600

bench:
	@scripts/setup --look bench
	@scripts/configure build $(options)
	@meson compile -C build
	@scripts/bench build $(BENCH) $(BENCH_ARGS)

# On a machine with an NVIDIA GPU: nothing is installed.
gpu-check:
	@scripts/gpu-check $(options)

gpu-bench:
	@BENCH_ARGS="--json $(BENCH_ARGS)" scripts/gpu-bench $(options) >build-gpu.json
	@scripts/results record $(CURDIR)/build-gpu.json
	@scripts/results write

# A tarball that needs no git, and no node for the page.
dist:
	@scripts/setup --look dist
	@scripts/dist

# Debian packages of the last commit.
deb:
	@scripts/setup --look deb
	@scripts/deb

# README, docs, manual pages and the reference of the library, with their links followed.
html:
	@scripts/setup --look html
	@scripts/html

fuzz:
	@scripts/setup --look fuzz
	@scripts/fuzz $(SECONDS)

lint:
	@scripts/setup --look lint
	@scripts/configure build $(options)
	@scripts/lint

format:
	@scripts/setup --look format
	@scripts/sources | xargs clang-format -i

wheel: build
	@meson compile -C build wheel

install: build
	@DESTDIR="$(DESTDIR)" meson install -C build --no-rebuild

clean:
	rm -rf build build-* dist

help:
	@echo "make [build]     builds build/gordian and libgordian"
	@echo "make deps        installs what make build needs, as root; FOR=check: what make check needs"
	@echo "make demo        shows a deadlock being found: the dining philosophers"
	@echo "make check       all tests, then again under the sanitizers"
	@echo "make check-long  the same, a hundred times as much, ten minutes of fuzzing, and SOAK=3600"
	@echo "                 seconds in which threads sleep and no wake-up may be lost;"
	@echo "                 OPEN_POSIX=FOLDER: the tests of open_posix_testsuite under gordian run"
	@echo "make bench       measures, and records it in docs/lab/results: BENCH=detect BENCH_ARGS=--quick"
	@echo "make gpu-check   the tests of the GPU part on a real GPU: DEVICE=0 EVENTS=1000000"
	@echo "make gpu-bench   the same with the GPU's engines: BENCH_ARGS=--quick"
	@echo "make fuzz        runs every fuzzer for SECONDS=60"
	@echo "make lint        format, static analysis, house rules; make check has its quick part"
	@echo "make format      rewrites the sources in the house style"
	@echo "make dist        dist/gordian-VERSION.tar.xz, for machines without git and node"
	@echo "make deb         dist/*.deb: gordian, libgordian0, libgordian-dev, gordian-serve, ..."
	@echo "make html        build/html: all documents, manual pages, the reference of the library"
	@echo "make wheel       build/wheel/gordian-*.whl, the Python package with the library in it"
	@echo "make install     to DESTDIR= under PREFIX=/usr/local"
	@echo "make clean       removes what was built"
