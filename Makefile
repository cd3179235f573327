# `make help` lists what there is. `make run` and `make test` need nothing but a Debian machine with Rust.

# Schedules of each placement of the tuple space that `make explore` tries (1000000 for a long run); those of the membership are named by QUINTET_SEEDS=FIRST..END.
SCHEDULES = 100000
# Schedules of each kept placement of which it has one fault more after each event; of isochrons three short ones: a long one takes more than ten minutes.
STEPPED = 5
# How often `make kill` kills or stops a member of an isonet, and kills a worker of a farm.
KILLS = 500
# Where `make install-c` installs.
PREFIX = /usr/local

export PATH := $(HOME)/.cargo/bin:$(PATH)
.DEFAULT_GOAL := help
.PHONY: help install-c run test verify fix book dist bench fuzz explore kill specs mutants

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## The main job: a grid search on three machines, of which one is lost
	@.ci/setup python
	@.ci/main-job

test: ## Every test and check that a change must pass
	@.ci/setup python
	@.ci/stages

install-c: ## The C library, its headers and manual, below PREFIX (/usr/local)
	@.ci/setup
	@$(MAKE) --no-print-directory -C bindings/c install PREFIX=$(PREFIX)

verify: ## The slow checks: the book, publishing, dependencies, spelling, Miri, loom, fuzzing, specifications, reproductions, ten thousand dials, mutants; changes no tracked file
	@.ci/setup
	@.ci/verify

fix: ## Format, apply what clippy suggests, write generated documentation anew
	cargo clippy --fix --workspace --all-targets --all-features --allow-dirty --allow-staged
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	cargo xtask docs
	cargo xtask corpus

book: ## The documents as one book for a browser, below target/book
	@.ci/setup
	@.ci/book

dist: ## A dry run of publishing: the wheel and the crates, everything but the upload
	@.ci/setup python
	@.ci/dist

bench: ## Measure beside peers and limits, in one run
	@.ci/setup python
	$(MAKE) -C benches/peers install
	$(MAKE) -C benches/peers
	.venv/bin/maturin develop --release --quiet --manifest-path bindings/python/Cargo.toml
	$(MAKE) --no-print-directory -C bindings/c bench
	cargo build --release --quiet -p quintet-cli
	$(MAKE) --no-print-directory -C bindings/c bench-clinda
	cargo run --release --quiet -p quintet-cli -- bench

fuzz: ## Each fuzz target for FUZZ_SECONDS (20)
	@.ci/setup
	@.ci/fuzz

explore: ## Random schedules and faults against the protocols, in the simulator: the tuple space, its log and its replicas, the membership, isochrons
	@.ci/setup
	for placement in volatile logged replicated managers; do \
		cargo run --release --quiet -p quintet-cli -- explore tuple-space --placement $$placement --seeds $(SCHEDULES) || exit; done
	cargo run --release --quiet -p quintet-cli -- explore isotach --seeds $(SCHEDULES)
	cargo run --release --quiet -p quintet-cli -- explore isotach --members --seeds $(SCHEDULES)
	for placement in logged replicated managers; do \
		cargo run --release --quiet -p quintet-cli -- explore tuple-space --placement $$placement --every-step --seeds $(STEPPED) || exit; done
	cargo run --release --quiet -p quintet-cli -- explore isotach --every-step --first-seed 6 --seeds 3
	cargo test --release --quiet -p quintet-membership --test simulated -- --ignored
	cargo test --release --quiet -p quintet-durable --test simulated -- --ignored
	cargo test --release --quiet -p quintet-replicated --test simulated -- --ignored
	cargo test --release --quiet -p quintet-isotach --all-features --test simulated -- --ignored

kill: ## Servers, leaders, kernels, agents, workers and evals killed, machines cut off, under clients, members of isonets killed, stopped and cut off, again and again: all that was acknowledged is there once, in one order, and whoever uses a manager that is killed is told; takes long
	@.ci/setup
	cargo test --release --quiet -p quintet-cli --test commands -- --ignored logged:: replicated:: linearizable:: kept_space kernel:: partitioned:: clinda::
	QUINTET_KILLS=$(KILLS) cargo test --release --quiet -p quintet-cli --test commands -- --ignored --nocapture isotach::
	QUINTET_KILLS=$(KILLS) cargo test --release --quiet -p quintet --test cuts --test faults -- --ignored --nocapture

specs: ## The specifications of isochrons, all behaviours of small sizes, and traces of the code against them
	@.ci/setup specs
	@.ci/specs

mutants: ## The protocols with a small mistake each: tests and schedules have to find it; takes hours
	@.ci/setup
	@.ci/mutants
