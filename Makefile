# ditbench: one build graph; folders contribute rules.mk. `make help` lists the targets.

comma := ,

# ---- knobs -----------------------------------------------------------------------------------------------------------
CC        ?= gcc
ifeq ($(origin CC),default)
CC        := gcc
endif
MPICC     ?= mpicc
PREFIX    ?= /usr/local
DESTDIR   ?=
BUILD     ?= build
DEBUG     ?= 0
V         ?= 0
SANITIZE  ?=
CUDA_HOME ?= /usr/local/cuda
JOBS      ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
LONG      ?= 0

# A warning ends the build of those who change the code (WERROR=1, as CI sets it), and not that of a user whose compiler is newer.
WERROR    ?= 0
ERRORS    := $(if $(filter 1,$(WERROR)),-Werror)
WARNINGS  := -Wall -Wextra $(ERRORS) -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wvla
OPTIMISE  := $(if $(filter 1,$(DEBUG)),-O0 -g3,-O3 -g1 -fno-math-errno -fno-trapping-math)
CFLAGS    ?= $(OPTIMISE)
# No contraction: the seeded numbers and the reference operators must give the same bits with every compiler.
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) $(WARNINGS) -ffp-contract=off -fno-strict-aliasing $(CFLAGS) \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -g1) -MMD -MP
ALL_LDFLAGS := $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))
BASE_LIBS := -lcjson -lxxhash -lm -lpthread
# What a device's library takes of base and kernels is in the program that loads it: all of them, and to be found.
LOADABLE := %/base.a %/kernels.a
WITH_LOADABLE = -Wl,--export-dynamic $(filter-out $(LOADABLE),$^) -Wl,--whole-archive $(filter $(LOADABLE),$^) -Wl,--no-whole-archive
Q         := $(if $(filter 1,$(V)),,@)

RELEASE   := $(shell cat VERSION)
# The commit that records carry; the same in words for people.
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT    := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)$(if $(filter %-dirty,$(VERSION)),$(comma) dirty)
.DEFAULT_GOAL := all

# ---- set-up and the two commands -------------------------------------------------------------------------------------
.PHONY: all test test-all bench deps help install lint format asan clean check fuzz report
bench: deps ## Run smoke and cpu/quick for real, simulate figures of papers, end with one page (minutes; LONG=1: all of them)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) $(BENCH_CUDA) all
	$(Q)LONG=$(LONG) ci/bench.sh $(BUILD) $(WORKLOADS)
# CUDA code is compiled for the GPUs that are here, and not where there is none, unless somebody says otherwise.
GPU_ARCH = $(shell ci/gpu/arch.sh)
GENCODE_OF = $(if $(filter native,$(1)),-arch=native,$(foreach arch,$(1),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)))
BENCH_CUDA = $(if $(BENCH_CUDA_SAID),,$(call BENCH_CUDA_FOR,$(GPU_ARCH)))
BENCH_CUDA_FOR = $(if $(1),"NVCC_GENCODE=$(strip $(call GENCODE_OF,$(1)))",CUDA=0 "CUDA_REASON=no GPU here (plain make compiles for GPUs anyway)")
BENCH_CUDA_SAID := $(filter-out undefined file,$(origin CUDA) $(origin NVCC_GENCODE))

check: deps ## Build, and run the quick test programs (under a minute)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all tests
	$(Q)ci/test.sh $(BUILD) check

test: deps ## Build, and run what a commit must pass; the last line counts the tests (minutes)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all tests
	$(Q)ci/test.sh $(BUILD)

test-all: deps ## Build, and run every test in its long form, under sanitizers too, and the fuzzers (an hour or two)
	$(Q)ci/all.sh $(BUILD)

deps: ## Install missing packages (or print the command and exit 4)
	$(Q)ci/deps.sh $(if $(filter deps,$(MAKECMDGOALS)),--report)

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Knobs: CC MPICC PREFIX DESTDIR BUILD DEBUG=1 V=1 SANITIZE=address,undefined CUDA=0 CUDA_HOME CUDNN_HOME NCCL_HOME NVCC_GENCODE NVCC_OPTIMISE WERROR=1 FUZZ_SECONDS WORKLOADS LONG=1"

# ---- folders ---------------------------------------------------------------------------------------------------------
include base/rules.mk kernels/rules.mk engine/rules.mk reports/rules.mk suite/rules.mk

all: $(BUILD)/bin/ditbench $(BUILD)/bin/ditbench-engine $(CUDA_LIBRARY) $(CLIP_LIBRARY) $(if $(SMPICC),$(if $(SANITIZE),,$(BUILD)/bin/ditbench-engine-sim)) ## Build the programs into build/bin
	@echo "$(CUDA_MESSAGE)"
	$(if $(SMPICC)$(SANITIZE),,@echo "no smpicc (Debian: libsimgrid-dev): ditbench-engine-sim is not built, nothing can be simulated")
tests: $(TESTS)
.PHONY: tests
# Objects of test programs stay, so that a change compiles what it concerns only.
.SECONDARY:

$(BUILD)/%.o: %.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(COMPILER) $(ALL_CFLAGS) $(FILE_CFLAGS) -c $< -o $@
COMPILER = $(CC)

# Rewritten only when it changes, so that a record never names the commit of an earlier build.
$(BUILD)/version.h: version
	@mkdir -p $(dir $@)
	@printf '#define DITBENCH_%s "%s"\n' RELEASE '$(RELEASE)' VERSION '$(VERSION)' COMMIT '$(COMMIT)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
.PHONY: version

$(BUILD)/%.a:
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  AR    $@")
	$(Q)rm -f $@ && ar rcs $@ $^

# A test is one cmocka program; tests/test_x.c of a folder links the folder's library and those below it.
$(BUILD)/tests/%: FILE_CFLAGS += -DDITBENCH_SOURCE_DIR='"$(CURDIR)"'

# ---- the rest --------------------------------------------------------------------------------------------------------
# The pages keep their folders, so that the links between them work.
PAGES := LICENSE README.md CHANGELOG.md CITATION.cff VERSION $(wildcard docs/*.md */README.md */*/README.md results/schema/*.md)
SHARE = $(DESTDIR)$(PREFIX)/share

install: all ## Install programs, workloads, schemas, documentation, manual page and completion under PREFIX
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/ditbench"
	install -m 755 $(BUILD)/bin/ditbench $(BUILD)/bin/ditbench-engine $(wildcard $(BUILD)/bin/ditbench-engine-sim) "$(DESTDIR)$(PREFIX)/bin"
	$(if $(CUDA_LIBRARY),install -D -m 755 $(CUDA_LIBRARY) "$(DESTDIR)$(PREFIX)/lib/ditbench-cuda.so")
	$(if $(CLIP_LIBRARY),install -D -m 755 $(CLIP_LIBRARY) "$(DESTDIR)$(PREFIX)/lib/ditbench-clip.so")
	cp -R workloads "$(DESTDIR)$(PREFIX)/share/ditbench/"
	install -d "$(DESTDIR)$(PREFIX)/share/ditbench/results"
	cp -R results/schema results/published results/calibration "$(DESTDIR)$(PREFIX)/share/ditbench/results/"
	for page in $(sort $(PAGES)); do install -D -m 644 $$page "$(SHARE)/doc/ditbench/$$page" || exit 1; done
	install -d "$(SHARE)/man/man1" "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions"
	$(BUILD)/bin/ditbench help --man > "$(SHARE)/man/man1/ditbench.1"
	$(BUILD)/bin/ditbench help --completion bash > "$(SHARE)/bash-completion/completions/ditbench"
	$(BUILD)/bin/ditbench help --completion zsh > "$(SHARE)/zsh/site-functions/_ditbench"

lint: ## Static analysis: cppcheck, shellcheck, formatting, gcc and clang warnings
	$(Q)ci/lint.sh

format: ## Rewrite white space with clang-format
	$(Q)ci/deps.sh format
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

asan: deps ## Build and test under AddressSanitizer and UndefinedBehaviorSanitizer (build/asan)
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) BUILD=build/asan SANITIZE=address,undefined CFLAGS="-O1" all tests
	$(Q)SANITIZE=address,undefined CFLAGS="-O1" ci/test.sh build/asan

fuzz: deps ## Fuzz the parsers with libFuzzer, side by side, FUZZ_SECONDS each (60)
	$(Q)ci/fuzz.sh $(FUZZ_SECONDS)

peers: deps ## Time linear layers beside libxsmm and oneDNN, blocks of every class beside PyTorch (half an hour)
	$(Q)ci/deps.sh gemm
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/gemm_peers
	$(Q)OMP_NUM_THREADS=1 $(BUILD)/tests/gemm_peers
	$(Q)DITBENCH_BUILD=$(BUILD) ci/peers.py
.PHONY: peers

clean: ## Remove build/
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
