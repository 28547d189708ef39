ENGINE_SOURCES := $(sort $(filter-out engine/main.c engine/main_sim.c,$(wildcard engine/*.c engine/*/*.c engine/*/*/*.c)))
ENGINE_SOURCES := $(filter-out engine/tests/% engine/sim/% engine/bound/% engine/files/clip_library.c,$(ENGINE_SOURCES))

# Tokenizers need three libraries. Where one is missing, engine/text/missing.c stands in and names it.
TEXT_PACKAGE_sentencepiece := libsentencepiece-dev
TEXT_PACKAGE_libutf8proc := libutf8proc-dev
TEXT_PACKAGE_libpcre2-8 := libpcre2-dev
TEXT_MISSING := $(strip $(foreach name,sentencepiece libutf8proc libpcre2-8,$(if $(shell pkg-config --exists $(name) && echo 1),,$(TEXT_PACKAGE_$(name)))))
ifeq ($(TEXT_MISSING),)
ENGINE_SOURCES := $(filter-out engine/text/missing.c,$(ENGINE_SOURCES))
TEXT_OBJECTS := $(BUILD)/engine/subwords/sentence_piece.o
TEXT_LIBS := -lsentencepiece -lutf8proc -lpcre2-8 -lstdc++
else
ENGINE_SOURCES := $(filter-out $(wildcard engine/text/*.c) engine/subwords/% engine/unicode/%,$(ENGINE_SOURCES)) engine/text/missing.c engine/text/token_list.c
%/engine/text/missing.o: FILE_CFLAGS += -DDITBENCH_TEXT_MISSING='"$(TEXT_MISSING)"'
endif
# Rewritten only when it changes: then everything that has these rooms is linked again.
$(BUILD)/engine/text/missing.txt: version
	@mkdir -p $(dir $@)
	@echo '$(TEXT_MISSING)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/engine/text/token_list.o $(BUILD)/sim/engine/text/token_list.o: $(BUILD)/engine/text/missing.txt
# The one file of C++. All programs link the same object, simulated ranks, too.
$(BUILD)/engine/subwords/sentence_piece.o: engine/subwords/sentence_piece.cpp
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CXX   $<")
	$(Q)$(CXX) -std=c++17 $(filter-out -std=c11 -Wstrict-prototypes -Wmissing-prototypes,$(ALL_CFLAGS)) $(FILE_CFLAGS) -fPIC -c $< -o $@

ENGINE_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(ENGINE_SOURCES)) $(TEXT_OBJECTS)
$(BUILD)/engine/%.o: COMPILER = OMPI_CC=$(CC) $(MPICC)
$(BUILD)/engine/engine.a: $(ENGINE_OBJECTS)
ENGINE_LIBS := -lhwloc -lpng -ljpeg -lz -ldl $(TEXT_LIBS) $(BASE_LIBS)

$(BUILD)/bin/ditbench-engine: $(BUILD)/engine/main.o $(BUILD)/engine/engine.a $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)OMPI_CC=$(CC) $(MPICC) $(ALL_LDFLAGS) $(WITH_LOADABLE) $(ENGINE_LIBS) -o $@

# Clips as MP4 and WebM, where there is libavcodec: a library that the engine loads when one is asked for.
LIBAV := libavformat libavcodec libswscale libavutil
CLIP_LIBRARY := $(if $(shell pkg-config --exists $(LIBAV) 2>/dev/null && echo 1),$(BUILD)/lib/ditbench-clip.so)
LIBAV_CFLAGS = $(shell pkg-config --cflags $(LIBAV))
LIBAV_LIBS = $(shell pkg-config --libs $(LIBAV))
$(BUILD)/lib/ditbench-clip.so: engine/files/clip_library.c engine/files/clip_impl.h engine/files/clip.h engine/files/picture.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LIBAV_CFLAGS) -fPIC -shared $(ALL_LDFLAGS) $< $(LIBAV_LIBS) -o $@

# The same engine with the fault switch compiled in (DITBENCH_FAULT=hang:1 ...): for tests only, never installed. Files that
# know the switch are compiled for it; they come before those of the archive.
FAULT_SOURCES := $(shell grep -l 'engine/runtime/fault.h' $(ENGINE_SOURCES))
$(BUILD)/fault/engine/%.o: engine/%.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(Q)OMPI_CC=$(CC) $(MPICC) $(ALL_CFLAGS) $(FILE_CFLAGS) -DDITBENCH_FAULT_INJECTION -c $< -o $@
$(BUILD)/tests/ditbench-engine-fault: $(FAULT_SOURCES:%.c=$(BUILD)/fault/%.o) $(BUILD)/engine/main.o $(BUILD)/engine/engine.a \
		$(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)OMPI_CC=$(CC) $(MPICC) $(ALL_LDFLAGS) $(WITH_LOADABLE) $(ENGINE_LIBS) -o $@

# The same sources as ranks of SimGrid: everything is compiled by smpicc, whose header turns main, the clock and exit into
# the simulator's. It would also make malloc shared between ranks, which the engine does not want.
SMPICC := $(shell command -v smpicc 2>/dev/null)
SIM_SOURCES := $(sort $(wildcard base/*.c kernels/*.c kernels/cases/*.c kernels/ref/*.c kernels/cpu/*.c kernels/count/*.c kernels/cost/*.c engine/sim/*.c engine/bound/*.c) engine/main_sim.c) $(ENGINE_SOURCES)
# Every rank loads a copy of the whole program: names are resolved inside it, without a search, and it has no symbols for a
# debugger (SIM_STRIP= keeps them).
SIM_STRIP = -s
SIM_LDFLAGS = $(LDFLAGS) -Wl,-Bsymbolic -Wl,-z,now $(SIM_STRIP)
SIM_OBJECTS := $(patsubst %.c,$(BUILD)/sim/%.o,$(SIM_SOURCES))
$(BUILD)/sim/%_avx512.o: FILE_CFLAGS += -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx2 -mfma
$(BUILD)/sim/%_avx2.o: FILE_CFLAGS += -mavx2 -mfma
$(BUILD)/sim/%.o: %.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  SIM   $<")
	$(Q)$(SMPICC) $(filter-out -Wshadow -Werror,$(ALL_CFLAGS)) $(FILE_CFLAGS) -DSMPI_NO_OVERRIDE_MALLOC -fPIC -c $< -o $@
# The program carries a digest of the sources and flags that it was made of, so that the cache of shapes (suite/simulate)
# knows a simulator again whatever commit it names. Sources are those listed and the headers that the compiler read.
$(BUILD)/sim/digest.c: $(SIM_OBJECTS)
	$(Q){ echo $(foreach one,$(SMPICC) $(ALL_CFLAGS),'$(one)'); $(CC) --version; cat $(SIM_SOURCES); \
		cat $(SIM_OBJECTS:.o=.d) | tr -s ' \\:' '\n' | grep -E '^(base|kernels|engine)/.*[.]h$$' | sort -u | xargs cat; } | sha256sum | \
		sed -E 's/^([0-9a-f]{64}).*/const char dit_simulator_digest[] __attribute__((used)) = "ditbench-engine-sim is made of \1";/' > $@
$(BUILD)/bin/ditbench-engine-sim: $(SIM_OBJECTS) $(TEXT_OBJECTS) $(BUILD)/sim/digest.c
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(SMPICC) $(SIM_LDFLAGS) -DSMPI_NO_OVERRIDE_MALLOC -fPIC $^ $(ENGINE_LIBS) -o $@
$(BUILD)/tests/engine_simulated_collectives: $(BUILD)/sim/engine/tests/simulated_collectives.o \
		$(filter-out $(BUILD)/sim/engine/main_sim.o,$(SIM_OBJECTS)) $(TEXT_OBJECTS)
	@mkdir -p $(dir $@)
	$(Q)$(SMPICC) $(SIM_LDFLAGS) $^ $(ENGINE_LIBS) -o $@
TESTS += $(if $(SMPICC),$(if $(SANITIZE),,$(BUILD)/tests/engine_simulated_collectives))

# What the simulator charges needs no SimGrid.
$(BUILD)/tests/engine_test_sim $(BUILD)/tests/engine_test_sim_serial: $(BUILD)/tests/engine_%: $(BUILD)/engine/tests/%.o \
		$(patsubst %,$(BUILD)/engine/sim/%.o,sim links hops serial) $(BUILD)/engine/engine.a $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)OMPI_CC=$(CC) $(MPICC) $(ALL_LDFLAGS) $^ -lcmocka $(ENGINE_LIBS) -o $@

ENGINE_TESTS := $(patsubst engine/tests/%.c,$(BUILD)/tests/engine_%,$(sort $(wildcard engine/tests/test_*.c)))
$(BUILD)/tests/engine_%: $(BUILD)/engine/tests/%.o $(BUILD)/engine/engine.a $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)OMPI_CC=$(CC) $(MPICC) $(ALL_LDFLAGS) $(WITH_LOADABLE) -lcmocka $(ENGINE_LIBS) -o $@
$(BUILD)/tests/engine_test_clip: | $(CLIP_LIBRARY)
$(BUILD)/engine/tests/test_clip.o: FILE_CFLAGS += $(if $(CLIP_LIBRARY),-DDITBENCH_LIBAV $(LIBAV_CFLAGS))
$(BUILD)/tests/engine_test_clip: ENGINE_LIBS += $(if $(CLIP_LIBRARY),$(LIBAV_LIBS))
TESTS += $(ENGINE_TESTS) $(BUILD)/tests/ditbench-engine-fault $(BUILD)/tests/engine_picture_diff \
	$(BUILD)/tests/engine_tensor_sums $(BUILD)/tests/engine_displaced_attention $(BUILD)/tests/engine_shapes \
	$(BUILD)/tests/engine_matrix $(BUILD)/tests/engine_device_messages $(BUILD)/tests/engine_layers

# The emulated device with a communicator: NCCL's calls are answered by a double.
EMULATED_NCCL := $(BUILD)/tests/ditbench-cuda-emulated-nccl.so
EMULATED_NCCL_OBJECTS := $(patsubst %,$(BUILD)/cuda-emulated/%.o,engine/comm/nccl.cu engine/comm/schedule.c \
	engine/tests/fake_nccl/fake_nccl.cu)
$(BUILD)/cuda-emulated/engine/%.cu.o: EMULATE_FLAGS += -Iengine/tests/fake_nccl
$(EMULATED_NCCL): $(EMULATE_OBJECTS) $(EMULATED_NCCL_OBJECTS)
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CXX) -shared $(ALL_LDFLAGS) $^ -lcjson -ldl -o $@
TESTS += $(EMULATED_NCCL)

# The data of the small models as a shared object, for the scripts that train them (ci/train). Only on demand.
SHAPES_LIBRARY := $(BUILD)/lib/ditbench-shapes.so
SHAPES_SOURCES := $(sort $(wildcard engine/shapes/*.c)) base/rng.c base/hash.c base/words.c base/status.c
$(BUILD)/shared/%.o: %.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(FILE_CFLAGS) -fPIC -c $< -o $@
$(SHAPES_LIBRARY): $(patsubst %.c,$(BUILD)/shared/%.o,$(SHAPES_SOURCES))
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) -shared $(ALL_LDFLAGS) $^ -lxxhash -lm -lpthread -o $@.new && mv $@.new $@
shapes-lib: $(SHAPES_LIBRARY) ## Build the pictures of shapes as a shared object, for ci/train
.PHONY: shapes-lib
