KERNELS_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard kernels/*.c kernels/ref/*.c kernels/cpu/*.c kernels/count/*.c \
                     kernels/cost/*.c)))
$(BUILD)/kernels/kernels.a: $(KERNELS_OBJECTS)
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
	$(Q)$(CC) $(ALL_LDFLAGS) $^ -lcmocka $(KERNELS_TEST_LIBS) $(BASE_LIBS) -o $@
TESTS += $(KERNELS_TESTS)

# cuDNN's plans are made without a device where cuDNN is (CUDA_HOME/include/cudnn.h); sanitizers cannot load it.
ifeq ($(SANITIZE),)
ifneq ($(wildcard $(CUDA_HOME)/include/cudnn.h),)
CUDNN_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard kernels/cuda/cudnn_*.c)))
CUDNN_FLAGS   := -DDIT_CUDA_CUDNN -isystem $(CUDA_HOME)/include
CUDNN_LIBS    := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudnn
$(CUDNN_OBJECTS) $(BUILD)/kernels/tests/test_cudnn.o: FILE_CFLAGS += $(CUDNN_FLAGS)
$(BUILD)/kernels/tests/test_cudnn.o: FILE_CFLAGS += -DDITBENCH_DRIVER_WITHOUT_DEVICE='"$(abspath $(BUILD))/tests/driver/libcuda.so.1"'
$(BUILD)/tests/kernels_test_cudnn: $(CUDNN_OBJECTS) | $(BUILD)/tests/driver/libcuda.so.1
$(BUILD)/tests/kernels_test_cudnn: KERNELS_TEST_LIBS = $(CUDNN_LIBS) -ldl
$(BUILD)/tests/driver/libcuda.so.1: kernels/tests/driver_without_device.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(WARNINGS) -Wno-missing-prototypes -shared -fPIC -Wl,-soname,libcuda.so.1 $< -o $@
endif
endif
