SUITE_SOURCES := $(sort $(filter-out suite/main.c suite/tests/%,$(wildcard suite/*.c suite/*/*.c suite/*/*/*.c)))
SUITE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(SUITE_SOURCES))
$(BUILD)/suite/%.o: FILE_CFLAGS += -DDITBENCH_COMPILER='"$(CC)"'
$(BUILD)/suite/machine/environment.o: FILE_CFLAGS += -DDITBENCH_CFLAGS='"$(CFLAGS)"'
$(BUILD)/suite/suite.a: $(SUITE_OBJECTS)
SUITE_LIBS := -lsqlite3 -lhwloc -lpng $(BASE_LIBS)

$(BUILD)/bin/ditbench: $(BUILD)/suite/main.o $(BUILD)/suite/suite.a $(BUILD)/reports/reports.a $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(ALL_LDFLAGS) $(WITH_LOADABLE) $(SUITE_LIBS) -o $@

SUITE_TESTS := $(patsubst suite/tests/%.c,$(BUILD)/tests/suite_%,$(sort $(wildcard suite/tests/test_*.c)))
$(BUILD)/tests/suite_%: $(BUILD)/suite/tests/%.o $(BUILD)/suite/suite.a $(BUILD)/reports/reports.a $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(WITH_LOADABLE) -lcmocka $(SUITE_LIBS) -o $@
TESTS += $(SUITE_TESTS) $(BUILD)/tests/suite_one_document $(BUILD)/tests/suite_synthetic_sessions $(BUILD)/tests/suite_held_out_figures

# An engine that makes its times up: for tests of the harness only, never installed.
$(BUILD)/tests/ditbench-engine-fake: $(BUILD)/suite/tests/fake_engine.o $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(BASE_LIBS) -o $@
TESTS += $(BUILD)/tests/ditbench-engine-fake

# Lies about the clock and the kernel, for tests that load it into the harness.
$(BUILD)/tests/ditbench-shim.so: suite/tests/shim.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -shared $< -ldl -o $@
TESTS += $(BUILD)/tests/ditbench-shim.so
