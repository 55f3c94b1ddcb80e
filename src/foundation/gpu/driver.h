/* The functions of the CUDA driver that are used, loaded from its library at run time: the build
 * needs neither its header nor its library. */
#pragma once

#include "foundation/base/error.h"

#define CUDA_LIBRARY "libcuda.so.1"

/* The results that are handled here. */
enum cuda_result {
    CUDA_OK = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
};

enum cuda_device_attribute {
    CUDA_MULTIPROCESSOR_COUNT = 16,
    CUDA_COMPUTE_CAPABILITY_MAJOR = 75,
    CUDA_COMPUTE_CAPABILITY_MINOR = 76,
    CUDA_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum {
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_HOST_PORTABLE_AND_MAPPED = 3,
    CUDA_FUNCTION_SHARED_SIZE_BYTES = 1,
    CUDA_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CUDA_SHARED_WITHOUT_ASKING = 48 << 10,
};

/* The driver's structs for virtual memory. */
struct cuda_location {
    int type; /* CUDA_LOCATION_DEVICE */
    int device;
};

struct cuda_memory_kind {
    int type;    /* CUDA_MEMORY_PINNED: always on the device */
    int handles; /* unused: 0, not to be shared */
    struct cuda_location where;
    void *metadata; /* unused: NULL */
    unsigned char flags[8];
};

struct cuda_access {
    struct cuda_location who;
    int flags; /* CUDA_ACCESS_READ_WRITE */
};

enum {
    CUDA_LOCATION_DEVICE = 1,
    CUDA_MEMORY_PINNED = 1,
    CUDA_ACCESS_READ_WRITE = 3,
    CUDA_GRANULARITY_RECOMMENDED = 1,
};

typedef struct cuda_context *cuda_context;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;
typedef struct cuda_module *cuda_module;
typedef struct cuda_function *cuda_function;

/* X(name in the library, name here, parameters) */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit, init, (unsigned flags))                                                              \
    X(cuGetErrorString, error_string, (int result, const char **text))                             \
    X(cuDeviceGetCount, device_count, (int *count))                                                \
    X(cuDeviceGet, device_get, (int *device, int index))                                           \
    X(cuDeviceGetName, device_name, (char *name, int size, int device))                            \
    X(cuDeviceGetAttribute, device_attribute, (int *value, int attribute, int device))             \
    X(cuDeviceTotalMem_v2, device_memory, (size_t * bytes, int device))                            \
    X(cuDevicePrimaryCtxRetain, context_retain, (cuda_context * context, int device))              \
    X(cuDevicePrimaryCtxRelease_v2, context_release, (int device))                                 \
    X(cuCtxPushCurrent_v2, context_push, (cuda_context context))                                   \
    X(cuCtxPopCurrent_v2, context_pop, (cuda_context * context))                                   \
    X(cuMemGetInfo_v2, memory_info, (size_t * available, size_t * total))                          \
    X(cuMemAlloc_v2, memory_alloc, (uint64_t * address, size_t bytes))                             \
    X(cuMemFree_v2, memory_free, (uint64_t address))                                               \
    X(cuMemHostAlloc, host_alloc, (void **host, size_t bytes, unsigned flags))                     \
    X(cuMemFreeHost, host_free, (void *host))                                                      \
    X(cuMemHostGetDevicePointer_v2, host_address,                                                  \
      (uint64_t * address, void *host, unsigned flags))                                            \
    X(cuMemGetAllocationGranularity, granularity,                                                  \
      (size_t * bytes, const struct cuda_memory_kind *kind, int option))                           \
    X(cuMemAddressReserve, range_reserve,                                                          \
      (uint64_t * address, size_t bytes, size_t alignment, uint64_t wanted,                        \
       unsigned long long flags))                                                                  \
    X(cuMemAddressFree, range_free, (uint64_t address, size_t bytes))                              \
    X(cuMemCreate, piece_create,                                                                   \
      (unsigned long long *handle, size_t bytes, const struct cuda_memory_kind *kind,              \
       unsigned long long flags))                                                                  \
    X(cuMemRelease, piece_release, (unsigned long long handle))                                    \
    X(cuMemMap, piece_map,                                                                         \
      (uint64_t address, size_t bytes, size_t offset, unsigned long long handle,                   \
       unsigned long long flags))                                                                  \
    X(cuMemSetAccess, piece_access,                                                                \
      (uint64_t address, size_t bytes, const struct cuda_access *access, size_t count))            \
    X(cuMemUnmap, piece_unmap, (uint64_t address, size_t bytes))                                   \
    X(cuMemcpyHtoDAsync_v2, write,                                                                 \
      (uint64_t to, const void *from, size_t bytes, cuda_stream stream))                           \
    X(cuMemcpyDtoHAsync_v2, read, (void *to, uint64_t from, size_t bytes, cuda_stream stream))     \
    X(cuMemcpyDtoDAsync_v2, copy, (uint64_t to, uint64_t from, size_t bytes, cuda_stream stream))  \
    X(cuMemsetD8Async, fill8,                                                                      \
      (uint64_t to, unsigned char value, size_t count, cuda_stream stream))                        \
    X(cuMemsetD32Async, fill32, (uint64_t to, unsigned value, size_t count, cuda_stream stream))   \
    X(cuStreamCreate, stream_create, (cuda_stream * stream, unsigned flags))                       \
    X(cuStreamDestroy_v2, stream_destroy, (cuda_stream stream))                                    \
    X(cuStreamSynchronize, stream_wait, (cuda_stream stream))                                      \
    X(cuStreamQuery, stream_query, (cuda_stream stream))                                           \
    X(cuEventCreate, event_create, (cuda_event * event, unsigned flags))                           \
    X(cuEventDestroy_v2, event_destroy, (cuda_event event))                                        \
    X(cuEventRecord, event_record, (cuda_event event, cuda_stream stream))                         \
    X(cuEventSynchronize, event_wait, (cuda_event event))                                          \
    X(cuEventElapsedTime, event_elapsed, (float *milliseconds, cuda_event start, cuda_event end))  \
    X(cuModuleLoadData, module_load, (cuda_module * module, const void *image))                    \
    X(cuModuleUnload, module_unload, (cuda_module module))                                         \
    X(cuModuleGetFunction, module_function,                                                        \
      (cuda_function * function, cuda_module module, const char *name))                            \
    X(cuFuncGetAttribute, function_get, (int *value, int attribute, cuda_function function))       \
    X(cuFuncSetAttribute, function_set, (cuda_function function, int attribute, int value))        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy,                                      \
      (int *blocks, cuda_function function, int threads, size_t shared))                           \
    X(cuLaunchKernel, launch,                                                                      \
      (cuda_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,            \
       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,                \
       cuda_stream stream, void **parameters, void **extra))                                       \
    X(cuLaunchCooperativeKernel, launch_cooperative,                                               \
      (cuda_function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,            \
       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,                \
       cuda_stream stream, void **parameters))

struct cuda_driver {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes both as they are */
#define X(symbol, name, parameters) int(*name) parameters;
    CUDA_FUNCTIONS(X)
#undef X
};

/* Loads the library (the environment variable GORDIAN_CUDA_LIBRARY names another), finds every
 * function and initialises the driver. The library is never unloaded, because it does not support
 * that. GORDIAN_STATUS_UNAVAILABLE, with the reason, if there is none or it is too old. */
gordian_status driver_load(struct cuda_driver *driver, gordian_error *error);
/* Returns whether there is a driver, without starting it. */
bool driver_likely(void);
/* Returns the driver's text for a result, or its number. */
const char *driver_text(const struct cuda_driver *driver, int result, char *buffer, size_t size);
