# The cuda device: build/lib/ditbench-cuda.so where there is a toolkit, and everywhere its emulation for tests.
#
# Knobs: CUDA=0 (no toolkit wanted), CUDA_HOME, CUBLAS_HOME, CUDNN_HOME and NCCL_HOME (where they lie elsewhere),
# NVCC_GENCODE, NVCC_OPTIMISE.
# build/cuda/*.ptxas has the registers and spills of every kernel.
CUDA       ?= 1
CUBLAS_HOME ?= $(CUDA_ROOT)
CUDNN_HOME ?= $(CUDA_ROOT)
NCCL_HOME  ?= $(CUDA_ROOT)
NVCC_GENCODE ?= -gencode arch=compute_80,code=sm_80 -gencode arch=compute_89,code=sm_89 \
                -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90
NVCC_OPTIMISE ?= -O3
ifeq ($(origin CXX),default)
CXX        := g++
endif

# ---- sources ---------------------------------------------------------------------------------------------------------
# Files over a library are named after it.
CUDA_ALL      := $(sort $(wildcard kernels/cuda/*.cu kernels/cuda/*.c))
CUDA_OVER_LT  := $(strip $(foreach file,$(CUDA_ALL),$(if $(findstring _lt.,$(file)),$(file))))
CUDA_OVER_DNN := $(strip $(foreach file,$(CUDA_ALL),$(if $(findstring cudnn,$(file)),$(file))))
CUDA_OWN      := $(filter-out $(CUDA_OVER_LT) $(CUDA_OVER_DNN),$(CUDA_ALL))

# ---- what is there ---------------------------------------------------------------------------------------------------
# A sanitized build has the emulation; the toolkit's compiler knows no sanitizer.
NVCC := $(if $(SANITIZE)$(filter 0,$(CUDA)),,$(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null)))
CUDA_ROOT := $(patsubst %/bin/nvcc,%,$(NVCC))
CUDA_LIB   = $(firstword $(wildcard $(1)/lib64 $(1)/lib))
CUBLASLT  := $(if $(NVCC),$(if $(CUDA_OVER_LT),$(wildcard $(CUBLAS_HOME)/include/cublasLt.h)))
CUDNN     := $(if $(NVCC),$(if $(CUDA_OVER_DNN),$(firstword $(wildcard $(CUDNN_HOME)/include/cudnn.h /usr/include/cudnn.h))))
NCCL      := $(if $(NVCC),$(firstword $(wildcard $(NCCL_HOME)/include/nccl.h /usr/include/nccl.h)))
CUDA_MESSAGE := $(if $(SANITIZE),a sanitized build has no cuda device but the emulated one,$(if $(NVCC),cuda: $(NVCC)$(if \
    $(CUBLASLT),$(comma) cuBLASLt,; no cuBLASLt: own linear layers only)$(if $(CUDNN),$(comma) cuDNN,; no cuDNN: own \
    attention and convolutions only)$(if $(NCCL),$(comma) NCCL,; no NCCL: ranks exchange through the host),$(if $(filter \
    0,$(CUDA)),$(or $(CUDA_REASON),CUDA=0),no CUDA toolkit in $(CUDA_HOME) or on PATH): the cuda device is not built$(comma) but for tests))

# Of other folders, into the same library.
CUDA_EXTRA_SOURCES ?= $(if $(NCCL),engine/comm/nccl.cu engine/comm/schedule.c)
CUDA_SOURCES  := $(CUDA_OWN) $(if $(CUBLASLT),$(CUDA_OVER_LT)) $(if $(CUDNN),$(CUDA_OVER_DNN)) $(CUDA_EXTRA_SOURCES)

# ---- the library -----------------------------------------------------------------------------------------------------
CUDA_DEFINES := $(if $(CUBLASLT),-DDIT_CUDA_CUBLASLT) $(if $(CUDNN),-DDIT_CUDA_CUDNN) $(if $(NCCL),-DDIT_CUDA_NCCL)
CUDA_INCLUDES := -isystem $(CUDA_ROOT)/include $(if $(CUBLASLT),-isystem $(dir $(CUBLASLT))) $(if $(CUDNN),-isystem $(dir $(CUDNN))) $(if $(NCCL),-isystem $(dir $(NCCL)))
NVCC_FLAGS := -std=c++17 $(NVCC_OPTIMISE) -lineinfo $(if $(ERRORS),-Werror all-warnings) -Xcompiler -Wall,-Wextra,$(if $(ERRORS),-Werror$(comma))-fPIC,-fno-math-errno \
              -I. -I$(BUILD) $(CUDA_INCLUDES) $(CUDA_DEFINES) $(NVCC_GENCODE) -Xptxas -v
CUDA_DIRS  := $(sort $(call CUDA_LIB,$(CUDA_ROOT)) $(if $(CUBLASLT),$(call CUDA_LIB,$(CUBLAS_HOME))) $(if $(CUDNN),$(call CUDA_LIB,$(CUDNN_HOME))) $(if $(NCCL),$(call CUDA_LIB,$(NCCL_HOME))))
CUDA_LIBS  := $(CUDA_DIRS:%=-L%) $(foreach dir,$(CUDA_DIRS),-Xlinker -rpath -Xlinker $(dir)) $(if $(CUBLASLT),-lcublasLt) \
              $(if $(CUDNN),-lcudnn) $(if $(NCCL),-lnccl) -lcjson -ldl
CUDA_OBJECTS := $(patsubst %,$(BUILD)/cuda/%.o,$(CUDA_SOURCES))

$(BUILD)/cuda/%.cu.o: %.cu | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  NVCC  $<")
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ >$(BUILD)/cuda/$(notdir $*).ptxas 2>&1 || \
		{ cat $(BUILD)/cuda/$(notdir $*).ptxas >&2; rm -f $@; exit 1; }
$(BUILD)/cuda/%.c.o: %.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC $(CUDA_INCLUDES) $(CUDA_DEFINES) -c $< -o $@
$(BUILD)/lib/ditbench-cuda.so: $(CUDA_OBJECTS)
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(NVCC) -shared -cudart static $(NVCC_GENCODE) $^ $(CUDA_LIBS) -o $@
CUDA_LIBRARY := $(if $(NVCC),$(BUILD)/lib/ditbench-cuda.so)

# ---- the emulation ---------------------------------------------------------------------------------------------------
# It runs where it is built: fmaf is an instruction, and not a function of libm, where this processor has it.
EMULATE_ISA := $(if $(and $(shell grep -ow -m 1 avx2 /proc/cpuinfo 2>/dev/null),$(shell grep -ow -m 1 fma /proc/cpuinfo 2>/dev/null)),-mavx2 -mfma)
EMULATE_FLAGS = -std=c++17 -O2 $(EMULATE_ISA) -g1 -fPIC -fno-math-errno -ffp-contract=off -fno-strict-aliasing -Wall -Wextra $(ERRORS) \
                -Wno-unknown-pragmas -DDIT_CUDA_EMULATED -D_GNU_SOURCE -Ikernels/cuda/emulate -I. -I$(BUILD) -MMD -MP \
                $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
EMULATE_OBJECTS := $(patsubst %,$(BUILD)/cuda-emulated/%.o,$(CUDA_OWN) $(sort $(wildcard kernels/cuda/emulate/*.cpp)))
CUDA_EMULATED := $(BUILD)/tests/ditbench-cuda-emulated.so

$(BUILD)/cuda-emulated/%.cu.o: %.cu | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CXX   $<")
	$(Q)$(CXX) $(EMULATE_FLAGS) -x c++ -c $< -o $@
$(BUILD)/cuda-emulated/%.cpp.o: %.cpp | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CXX   $<")
	$(Q)$(CXX) $(EMULATE_FLAGS) -c $< -o $@
$(BUILD)/cuda-emulated/%.c.o: %.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -c $< -o $@
$(CUDA_EMULATED): $(EMULATE_OBJECTS)
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CXX) -shared $(ALL_LDFLAGS) $^ -lcjson -ldl -o $@

# ---- tests -----------------------------------------------------------------------------------------------------------
# Tests in CUDA take of the emulation what they do not define themselves.
$(BUILD)/cuda-emulated/emulated.a: $(EMULATE_OBJECTS)
EMULATED_TESTS := $(patsubst kernels/tests/%.cu,$(BUILD)/tests/kernels_%,$(sort $(filter-out %/test_cudnn_calls.cu,$(wildcard \
                    kernels/tests/test_*.cu))))
$(EMULATED_TESTS): $(BUILD)/tests/kernels_%: $(BUILD)/cuda-emulated/kernels/tests/%.cu.o $(BUILD)/cuda-emulated/emulated.a \
		$(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CXX) $(ALL_LDFLAGS) $^ -lcmocka $(BASE_LIBS) -ldl -o $@
$(BUILD)/tests/kernels_test_nvml: $(BUILD)/kernels/cuda/nvml.o
# cuDNN without a device. Its plans, by the library, which wants a driver (one that has no device); and what is asked of
# it, carried out on the host, of which only its header is needed.
CUDNN_PLANS := $(if $(CUDNN),$(patsubst %,$(BUILD)/cuda/%.o,$(filter %.c,$(CUDA_OVER_DNN))))
CUDNN_CALLS := $(patsubst %,$(BUILD)/cuda-emulated/kernels/%.o,tests/test_cudnn_calls.cu $(if $(CUDNN),tests/cudnn_on_host.cpp \
                 cuda/attention_cudnn.cu cuda/conv_cudnn.cu))
NO_DEVICE   := $(BUILD)/tests/no_device/libcuda.so.1
ifneq ($(CUDNN),)
$(CUDNN_CALLS): EMULATE_FLAGS += $(CUDA_DEFINES) $(CUDA_INCLUDES)
$(BUILD)/kernels/tests/test_cudnn.o: FILE_CFLAGS += $(CUDA_DEFINES) $(CUDA_INCLUDES) -DDITBENCH_NO_DEVICE='"$(abspath $(NO_DEVICE))"'
$(BUILD)/tests/kernels_test_cudnn: KERNELS_TEST_LIBS = $(CUDA_DIRS:%=-L%) $(CUDA_DIRS:%=-Wl,-rpath,%) -lcudnn -ldl
endif
$(BUILD)/tests/kernels_test_cudnn: $(CUDNN_PLANS) $(if $(CUDNN),| $(NO_DEVICE))
$(NO_DEVICE): kernels/tests/driver_without_device.c
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -MF $(BUILD)/tests/no_device.d -fPIC -shared -Wl,-soname,$(notdir $@) $< -o $@
$(BUILD)/tests/kernels_test_cudnn_calls: $(CUDNN_CALLS) $(CUDNN_PLANS) $(if $(CUDNN),$(BUILD)/cuda-emulated/emulated.a) $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CXX) $(ALL_LDFLAGS) $^ -lcmocka $(BASE_LIBS) -ldl -o $@
$(BUILD)/tests/kernels_test_cuda_linear: | $(CUDA_EMULATED) $(BUILD)/tests/ditbench-cuda-fake-lt.so
# linear_lt.cu over a cuBLASLt of the host: in a test's program, and as a library under kernels_test_cuda_linear.
FAKE_LT := $(BUILD)/cuda-fake-lt
FAKE_LT_OBJECTS := $(FAKE_LT)/linear_lt.o $(FAKE_LT)/absent.o $(FAKE_LT)/cublaslt.o \
                   $(filter-out $(BUILD)/cuda-emulated/kernels/cuda/absent.cu.o,$(EMULATE_OBJECTS))
$(FAKE_LT)/linear_lt.o: kernels/cuda/linear_lt.cu
$(FAKE_LT)/absent.o: kernels/cuda/absent.cu
$(FAKE_LT)/cublaslt.o: kernels/tests/fake/cublaslt.cpp
$(FAKE_LT)/test_cuda_lt.o: kernels/tests/fake/test_cuda_lt.cu
$(FAKE_LT)/%.o: | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(if $(Q),@echo "  CXX   $<")
	$(Q)$(CXX) $(EMULATE_FLAGS) -DDIT_CUDA_CUBLASLT -Ikernels/tests/fake -x c++ -c $< -o $@
$(BUILD)/tests/kernels_test_cuda_lt: $(FAKE_LT)/test_cuda_lt.o $(FAKE_LT_OBJECTS) $(BUILD)/kernels/kernels.a $(BUILD)/base/base.a
	@mkdir -p $(dir $@)
	$(Q)$(CXX) $(ALL_LDFLAGS) $^ -lcmocka $(BASE_LIBS) -ldl -o $@
$(BUILD)/tests/ditbench-cuda-fake-lt.so: $(FAKE_LT_OBJECTS)
	@mkdir -p $(dir $@)
	$(Q)$(CXX) -shared $(ALL_LDFLAGS) $^ -lcjson -ldl -o $@
# A management library with known answers.
$(BUILD)/tests/fake_nvml.so: kernels/tests/fake_nvml.c | $(BUILD)/version.h
	@mkdir -p $(dir $@)
	$(Q)$(CC) $(ALL_CFLAGS) -MF $(@:.so=.d) -fPIC -shared $(ALL_LDFLAGS) $< -o $@
TESTS += $(EMULATED_TESTS) $(BUILD)/tests/kernels_test_cudnn_calls $(BUILD)/tests/kernels_test_cuda_lt \
	$(BUILD)/tests/fake_nvml.so $(CUDA_EMULATED)
