KERNELS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard kernels/*.c kernels/ref/*.c kernels/cpu/*.c)))
$(BUILD)/kernels/kernels.a: $(KERNELS_OBJECTS)
# One instruction set per file name; only code behind the run-time dispatch may use it.
$(BUILD)/%_avx512.o: FILE_CFLAGS += -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
$(BUILD)/%_avx2.o: FILE_CFLAGS += -mavx2 -mfma
KERNELS_LIBS := -lxsmm -lxsmmext -lxsmmnoblas -ldl

KERNELS_TESTS := $(patsubst kernels/tests/%.c,$(BUILD)/tests/kernels_%,$(sort $(wildcard kernels/tests/test_*.c)))
$(BUILD)/tests/kernels_%: $(BUILD)/kernels/tests/%.o $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka $(KERNELS_LIBS) $(BASE_LIBS) -o $@
TESTS += $(KERNELS_TESTS)
