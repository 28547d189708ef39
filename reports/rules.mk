REPORTS_SOURCES := $(sort $(filter-out reports/tests/%,$(wildcard reports/*.c reports/*/*.c)))
REPORTS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(REPORTS_SOURCES))
$(BUILD)/reports/reports.a: $(REPORTS_OBJECTS)

REPORTS_TESTS := $(patsubst reports/tests/%.c,$(BUILD)/tests/reports_%,$(sort $(wildcard reports/tests/test_*.c)))
$(BUILD)/tests/reports_%: $(BUILD)/reports/tests/%.o $(BUILD)/reports/reports.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka -lpng $(BASE_LIBS) -o $@
TESTS += $(REPORTS_TESTS)
