BASE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard base/*.c)))
$(BUILD)/base/base.a: $(BASE_OBJECTS)

BASE_TESTS := $(patsubst base/tests/%.c,$(BUILD)/tests/base_%,$(sort $(wildcard base/tests/test_*.c)))
$(BUILD)/tests/base_%: $(BUILD)/base/tests/%.o $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka $(BASE_LIBS) -o $@
TESTS += $(BASE_TESTS)
