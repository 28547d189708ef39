KERNELS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard kernels/*.c kernels/cases/*.c kernels/ref/*.c kernels/cpu/*.c kernels/count/*.c \
                     kernels/cost/*.c)))
$(BUILD)/kernels/kernels.a: $(KERNELS_OBJECTS)
# What cpu/operators.h includes: every header there, so that a new operator is one file. Rewritten only when one has come
# or gone.
CPU_HEADERS := $(sort $(filter-out kernels/cpu/operators.h,$(wildcard kernels/cpu/*.h)))
$(BUILD)/kernels/cpu_headers.h: cpu_headers
	@mkdir -p $(dir $@)
	@printf '#include "%s"\n' $(CPU_HEADERS) | cmp -s - $@ || printf '#include "%s"\n' $(CPU_HEADERS) > $@
.PHONY: cpu_headers
$(foreach isa,$(wildcard kernels/cpu/isa_*.c),$(BUILD)/$(isa:.c=.o) $(BUILD)/sim/$(isa:.c=.o)): | $(BUILD)/kernels/cpu_headers.h
# One instruction set per file name; only code behind the run-time dispatch may use it.
# The files are empty on other machines than x86-64, whose compilers do not know these flags.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
$(BUILD)/%_avx512.o: FILE_CFLAGS += -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
$(BUILD)/%_avx2.o: FILE_CFLAGS += -mavx2 -mfma
endif

# Not part of anything: libraries to compare with (make peers).
$(BUILD)/tests/gemm_peers: $(BUILD)/kernels/peers/gemm_peers.o $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lxsmm -lxsmmext -lxsmmnoblas -ldl -ldnnl $(BASE_LIBS) -o $@

KERNELS_TESTS := $(patsubst kernels/tests/%.c,$(BUILD)/tests/kernels_%,$(sort $(wildcard kernels/tests/test_*.c)))
$(BUILD)/tests/kernels_%: $(BUILD)/kernels/tests/%.o $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(WITH_LOADABLE) -lcmocka $(KERNELS_TEST_LIBS) $(BASE_LIBS) -o $@
$(BUILD)/tests/kernels_test_algorithms: $(BUILD)/kernels/cuda/algorithms.o
TESTS += $(KERNELS_TESTS)

include kernels/cuda/rules.mk
