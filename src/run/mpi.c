/* MPI's calls, at the door. Programs bind to these, since this library comes first; what is behind
 * is decided at the first one, by the MPI that is in the process:
 *
 *     the layer of that MPI (mpi/layer.h), a library beside this one, which writes down who waits
 *     for whom and passes the call on; or, where there is none for it, the MPI itself.
 *
 * MPIs differ in what their handles are, ints or pointers, so the layer is compiled for each; here
 * arguments are passed on as they are. All of these calls take ints and pointers only, and every
 * one of them has a register or eight bytes of the stack, on both processors that there are.
 */
#include "mpi/record.h"
#include "run/export.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define OTHER 15 /* MPI_ERR_OTHER, or near: there is no MPI behind */

/* MPI_Sendrecv has twelve arguments, and nobody has more. */
typedef int (*any_function)(long, long, long, long, long, long, long, long, long, long, long, long);

static const char *const names[] = {
#define CALL_NAME(name) "PMPI_" #name,
    MPI_CALLS(CALL_NAME)
#undef CALL_NAME
};

/* MPIs by the name that their libraries are loaded under, and the layer that was made for each. */
static const struct {
    const char *library, *layer;
} kinds[] = {
    {"libmpi.so.40", "libgordian-mpi-openmpi.so"},
    {"libmpich.so.12", "libgordian-mpi-mpich.so"},
};

static any_function functions[MPI_CALL_COUNT];
static atomic_int bound;

/* A library beside this one; NULL: there is none, or it is of another version. */
static const struct mpi_layer *load_layer(const char *name)
{
    char path[PATH_MAX];
    Dl_info own;
    const char *slash = dladdr(names, &own) ? strrchr(own.dli_fname, '/') : NULL;
    int length = slash ? (int)(slash - own.dli_fname) : 0;
    static const char *const places[] = {"", "/../mpi"}; /* installed, and in the build folder */
    for (size_t i = 0; length && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%s/%s", length, own.dli_fname, places[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const struct mpi_layer *layer = library ? dlsym(library, MPI_LAYER_SYMBOL) : NULL;
        if (layer && layer->version == MPI_RECORD_VERSION && layer->count == MPI_CALL_COUNT)
            return layer;
    }
    return NULL;
}

static void bind_one(const struct mpi_layer *layer, void *library, size_t call)
{
    void *symbol = layer ? NULL : dlsym(library ? library : RTLD_NEXT, names[call]);
    if (layer)
        memcpy(&functions[call], &layer->calls[call], sizeof functions[call]);
    else
        memcpy(&functions[call], &symbol, sizeof functions[call]);
}

/* Threads that come here together do the same. */
static void bind_all(void)
{
    void *library = NULL;
    const struct mpi_layer *layer = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !library; i++) {
        library = dlopen(kinds[i].library, RTLD_LAZY | RTLD_NOLOAD);
        layer = library ? load_layer(kinds[i].layer) : NULL;
    }
    for (size_t i = 0; i < MPI_CALL_COUNT; i++)
        bind_one(layer, library, i);
    atomic_store_explicit(&bound, 1, memory_order_release);
}

static any_function behind(enum mpi_call call)
{
    if (!atomic_load_explicit(&bound, memory_order_acquire))
        bind_all();
    return functions[call];
}

#define CALL_DOOR(name)                                                                            \
    EXPORTED int MPI_##name(long, long, long, long, long, long, long, long, long, long, long,      \
                            long);                                                                 \
    int MPI_##name(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, \
                   long k, long l)                                                                 \
    {                                                                                              \
        any_function function = behind(MPI_CALL_##name);                                           \
        return function ? function(a, b, c, d, e, f, g, h, i, j, k, l) : OTHER;                    \
    }
MPI_CALLS(CALL_DOOR)
