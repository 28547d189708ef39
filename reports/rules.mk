REPORTS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard reports/*.c)))
$(BUILD)/reports/reports.a: $(REPORTS_OBJECTS)

REPORTS_TESTS := $(patsubst reports/tests/%.c,$(BUILD)/tests/reports_%,$(sort $(wildcard reports/tests/test_*.c)))
$(BUILD)/tests/reports_%: $(BUILD)/reports/tests/%.o $(BUILD)/reports/reports.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka -lpng $(BASE_LIBS) -o $@
TESTS += $(REPORTS_TESTS)
