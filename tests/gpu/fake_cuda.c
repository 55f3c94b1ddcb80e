#include "fake_cuda.h"

#include "foundation/gpu/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_INVALID_CONTEXT 201

static struct fake_cuda state;

struct fake_cuda *fake_cuda_state(void);

struct fake_cuda *fake_cuda_state(void)
{
    return &state;
}

/* Counts the call; its result. */
static int count(const char *name)
{
    state.calls++;
    if (state.calls != state.fail_at)
        return CUDA_OK;
    snprintf(state.failed, sizeof state.failed, "%s", name);
    state.failed_giving = state.giving;
    if (state.fail_with != CUDA_OUT_OF_MEMORY)
        state.serving = false; /* everything on the device ends with its context */
    return state.fail_with;
}

#define CALL                                                                                       \
    int result = count(__func__);                                                                  \
    if (result != CUDA_OK)                                                                         \
    return result
/* For calls that need a context. */
#define CALL_INSIDE                                                                                \
    CALL;                                                                                          \
    if (state.pushed == 0)                                                                         \
    return CUDA_INVALID_CONTEXT

/* The same prototypes that the loader believes in. */
#define X(symbol, name, parameters) int symbol parameters;
CUDA_FUNCTIONS(X)
#undef X

int cuInit(unsigned flags)
{
    (void)flags;
    CALL;
    return state.devices ? CUDA_OK : CUDA_NO_DEVICE;
}

int cuGetErrorString(int code, const char **text)
{
    *text = code == 999 ? NULL : "a fake failure";
    return code == 999 ? CUDA_INVALID_VALUE : CUDA_OK;
}

int cuDeviceGetCount(int *number)
{
    CALL;
    *number = state.devices;
    return CUDA_OK;
}

int cuDeviceGet(int *device, int index)
{
    CALL;
    *device = index + 10;
    return CUDA_OK;
}

int cuDeviceGetName(char *name, int size, int device)
{
    CALL;
    snprintf(name, (size_t)size, "Fake %d", device - 10);
    return CUDA_OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    CALL;
    *value = attribute == CUDA_COMPUTE_CAPABILITY_MAJOR        ? state.major
             : attribute == CUDA_COMPUTE_CAPABILITY_MINOR      ? 0
             : attribute == CUDA_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 << 10
                                                               : 100;
    return CUDA_OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    CALL;
    *bytes = state.memory;
    return CUDA_OK;
}

int cuDevicePrimaryCtxRetain(cuda_context *context, int device)
{
    (void)device;
    CALL;
    state.contexts++;
    *context = (cuda_context)&state;
    return CUDA_OK;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    state.contexts--;
    CALL;
    return CUDA_OK;
}

int cuCtxPushCurrent_v2(cuda_context context)
{
    CALL;
    state.pushed += context == (cuda_context)&state;
    return CUDA_OK;
}

int cuCtxPopCurrent_v2(cuda_context *context)
{
    state.pushed--;
    *context = (cuda_context)&state;
    CALL;
    return CUDA_OK;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CALL_INSIDE;
    *available = *total = state.memory;
    return CUDA_OK;
}

static void *take(size_t bytes)
{
    state.memories++;
    return calloc(1, bytes);
}

/* Freeing frees, whatever it returns; and it waits for everything that runs. */
static void give(void *memory)
{
    state.memories--;
    state.waits += state.serving;
    free(memory);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    CALL_INSIDE;
    *address = (uintptr_t)take(bytes);
    return CUDA_OK;
}

int cuMemFree_v2(uint64_t address)
{
    give((void *)(uintptr_t)address);
    CALL;
    return CUDA_OK;
}

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    (void)flags;
    CALL_INSIDE;
    *host = take(bytes);
    return CUDA_OK;
}

int cuMemFreeHost(void *host)
{
    give(host);
    CALL;
    return CUDA_OK;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
    (void)flags;
    CALL_INSIDE;
    *address = (uintptr_t)host;
    return CUDA_OK;
}

/* ---- virtual memory: the addresses are memory from the start, but it counts */

int cuMemGetAllocationGranularity(size_t *bytes, const struct cuda_memory_kind *kind, int option)
{
    CALL_INSIDE;
    if (kind->type != CUDA_MEMORY_PINNED || option != CUDA_GRANULARITY_RECOMMENDED)
        return CUDA_INVALID_VALUE;
    *bytes = FAKE_CUDA_GRANULARITY;
    return CUDA_OK;
}

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wanted,
                        unsigned long long flags)
{
    (void)alignment, (void)wanted, (void)flags;
    CALL_INSIDE;
    if (bytes == 0 || bytes % FAKE_CUDA_GRANULARITY != 0)
        return CUDA_INVALID_VALUE;
    state.ranges++;
    *address = (uintptr_t)calloc(1, bytes);
    return CUDA_OK;
}

int cuMemAddressFree(uint64_t address, size_t bytes)
{
    (void)bytes;
    state.ranges--;
    state.waits += state.serving;
    free((void *)(uintptr_t)address);
    CALL;
    return CUDA_OK;
}

int cuMemCreate(unsigned long long *handle, size_t bytes, const struct cuda_memory_kind *kind,
                unsigned long long flags)
{
    CALL_INSIDE;
    if (kind->where.type != CUDA_LOCATION_DEVICE || flags != 0)
        return CUDA_INVALID_VALUE;
    if (bytes > state.memory - state.mapped)
        return CUDA_OUT_OF_MEMORY;
    state.handles++;
    *handle = bytes;
    return CUDA_OK;
}

int cuMemRelease(unsigned long long handle)
{
    (void)handle;
    state.handles--;
    CALL;
    return CUDA_OK;
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, unsigned long long handle,
             unsigned long long flags)
{
    (void)address, (void)flags;
    CALL_INSIDE;
    if (offset != 0 || handle != bytes)
        return CUDA_INVALID_VALUE;
    state.mappings++;
    state.mapped += bytes;
    return CUDA_OK;
}

int cuMemSetAccess(uint64_t address, size_t bytes, const struct cuda_access *access, size_t number)
{
    (void)address, (void)bytes;
    CALL_INSIDE;
    if (number != 1 || access->flags != CUDA_ACCESS_READ_WRITE)
        return CUDA_INVALID_VALUE;
    return CUDA_OK;
}

int cuMemUnmap(uint64_t address, size_t bytes)
{
    (void)address;
    state.mappings--;
    state.mapped -= bytes;
    state.waits += state.serving;
    CALL;
    return CUDA_OK;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_OK;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_OK;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_OK;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t number, cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    memset((void *)(uintptr_t)to, value, number);
    return CUDA_OK;
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t number, cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    for (size_t i = 0; i < number; i++)
        ((unsigned *)(uintptr_t)to)[i] = value;
    return CUDA_OK;
}

int cuStreamCreate(cuda_stream *stream, unsigned flags)
{
    (void)flags;
    CALL_INSIDE;
    state.streams++;
    *stream = (cuda_stream)((char *)&state + state.streams); /* the second is the service's */
    return CUDA_OK;
}

int cuStreamDestroy_v2(cuda_stream stream)
{
    (void)stream;
    state.streams--;
    CALL;
    return CUDA_OK;
}

int cuStreamSynchronize(cuda_stream stream)
{
    CALL_INSIDE;
    if (stream == (cuda_stream)((char *)&state + 2))
        state.serving = false;
    return CUDA_OK;
}

int cuStreamQuery(cuda_stream stream)
{
    (void)stream;
    CALL_INSIDE;
    return state.serving ? CUDA_NOT_READY : CUDA_OK;
}

int cuEventCreate(cuda_event *event, unsigned flags)
{
    (void)flags;
    CALL_INSIDE;
    state.events++;
    *event = (cuda_event)&state;
    return CUDA_OK;
}

int cuEventDestroy_v2(cuda_event event)
{
    (void)event;
    state.events--;
    CALL;
    return CUDA_OK;
}

int cuEventRecord(cuda_event event, cuda_stream stream)
{
    (void)event, (void)stream;
    CALL_INSIDE;
    return CUDA_OK;
}

int cuEventSynchronize(cuda_event event)
{
    (void)event;
    CALL_INSIDE;
    return CUDA_OK;
}

int cuEventElapsedTime(float *milliseconds, cuda_event start, cuda_event end)
{
    (void)start, (void)end;
    CALL_INSIDE;
    *milliseconds = 1.5f;
    return CUDA_OK;
}

/* Images are texts: '*' has every kernel. */
int cuModuleLoadData(cuda_module *module, const void *image)
{
    CALL_INSIDE;
    state.modules++;
    *module = (cuda_module)(uintptr_t)image;
    return CUDA_OK;
}

int cuModuleUnload(cuda_module module)
{
    (void)module;
    state.modules--;
    CALL;
    return CUDA_OK;
}

int cuModuleGetFunction(cuda_function *function, cuda_module module, const char *name)
{
    CALL_INSIDE;
    if (*(const char *)module != '*' || *name == '\0')
        return CUDA_NOT_FOUND;
    *function = (cuda_function)&state;
    return CUDA_OK;
}

int cuFuncGetAttribute(int *value, int attribute, cuda_function function)
{
    (void)attribute, (void)function;
    CALL_INSIDE;
    *value = 0;
    return CUDA_OK;
}

int cuFuncSetAttribute(cuda_function function, int attribute, int value)
{
    (void)attribute, (void)function, (void)value;
    CALL_INSIDE;
    return CUDA_OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cuda_function function, int threads,
                                                size_t shared)
{
    (void)function, (void)shared;
    CALL_INSIDE;
    *blocks = 2048 / threads;
    return CUDA_OK;
}

static int launch(unsigned blocks, cuda_stream stream)
{
    if (blocks > 1000)
        return CUDA_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (stream == (cuda_stream)((char *)&state + 2))
        state.serving = true;
    state.launches++;
    return CUDA_OK;
}

int cuLaunchKernel(cuda_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                   cuda_stream stream, void **parameters, void **extra)
{
    (void)function, (void)blocks_y, (void)blocks_z, (void)threads_x, (void)threads_y;
    (void)threads_z, (void)shared, (void)parameters, (void)extra;
    CALL_INSIDE;
    return launch(blocks_x, stream);
}

int cuLaunchCooperativeKernel(cuda_function function, unsigned blocks_x, unsigned blocks_y,
                              unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                              unsigned threads_z, unsigned shared, cuda_stream stream,
                              void **parameters)
{
    (void)function, (void)blocks_y, (void)blocks_z, (void)threads_x, (void)threads_y;
    (void)threads_z, (void)shared, (void)parameters;
    CALL_INSIDE;
    return launch(blocks_x, stream);
}
