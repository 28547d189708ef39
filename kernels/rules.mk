KERNELS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard kernels/*.c kernels/ref/*.c kernels/cpu/*.c)))
$(BUILD)/kernels/kernels.a: $(KERNELS_OBJECTS)
# One instruction set per file name; only code behind the run-time dispatch may use it.
# The files are empty on other machines than x86-64, whose compilers do not know these flags.
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
$(BUILD)/%_avx512.o: FILE_CFLAGS += -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
$(BUILD)/%_avx2.o: FILE_CFLAGS += -mavx2 -mfma
endif
KERNELS_LIBS :=

KERNELS_TESTS := $(patsubst kernels/tests/%.c,$(BUILD)/tests/kernels_%,$(sort $(wildcard kernels/tests/test_*.c)))
$(BUILD)/tests/kernels_%: $(BUILD)/kernels/tests/%.o $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka $(KERNELS_LIBS) $(BASE_LIBS) -o $@
TESTS += $(KERNELS_TESTS)
