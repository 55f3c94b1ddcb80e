/* Defines MPI's function names. The watcher preloads this library into processes that start as a
 * rank (sources/run/wrappers/exec.c) and into no others: a program without MPI must not see these
 * names. A rank binds to them because the library comes first. The first call selects the target by
 * the MPI that is in the process:
 *
 *    the layer for that MPI (layer.h), a library in the same folder, which records which rank waits
 *    for which, and forwards the call; or the MPI itself, if there is no layer for it.
 *
 * MPIs differ in their handle types, ints or pointers, so the layer is compiled for each. An
 * interposer is a jump in assembler: all arguments stay where the caller put them, and the caller's
 * stack is not touched. */
#define _GNU_SOURCE
#include "foundation/records/mpi_rank.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OTHER 15 /* MPI_ERR_OTHER or close to it: the process has no MPI */

#define HIDDEN __attribute__((visibility("hidden")))

/* Runs at the first call of any interposer. */
HIDDEN void interposer_bind_all(void);

#if defined(__x86_64__)
#define GO(name)                                                                                   \
    "MPI_" #name ":\n\tendbr64\n\tjmp *interposer_to_" #name "(%rip)\n"                            \
    "interposer_first_" #name ":\n\tlea interposer_to_" #name                                      \
    "(%rip), %rax\n\tjmp interposer_bind\n"
__asm__(".text\n"
        ".type interposer_bind, @function\n"
        "interposer_bind:\n"
        "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tpush %rax\n"
        "\tcall interposer_bind_all\n"
        "\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
        "\tjmp *(%rax)\n"
        ".size interposer_bind, . - interposer_bind\n");
#else /* aarch64; meson.build excludes other processors */
#define GO(name)                                                                                   \
    "MPI_" #name ":\n\thint #34\n\tadrp x16, interposer_to_" #name                                 \
    "\n\tldr x16, [x16, :lo12:interposer_to_" #name "]\n\tbr x16\n"                                \
    "interposer_first_" #name ":\n\thint #34\n\tadrp x16, interposer_to_" #name                    \
    "\n\tadd x16, x16, :lo12:interposer_to_" #name "\n\tb interposer_bind\n"
__asm__(".text\n"
        ".type interposer_bind, @function\n"
        "interposer_bind:\n"
        "\tstp x29, x30, [sp, #-96]!\n\tmov x29, sp\n"
        "\tstp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n"
        "\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\tstr x16, [sp, #80]\n"
        "\tbl interposer_bind_all\n"
        "\tldr x16, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\tldp x4, x5, [sp, #48]\n"
        "\tldp x2, x3, [sp, #32]\n\tldp x0, x1, [sp, #16]\n\tldp x29, x30, [sp], #96\n"
        "\tldr x16, [x16]\n\tbr x16\n"
        ".size interposer_bind, . - interposer_bind\n");
#endif

#define INTERPOSER(name)                                                                           \
    HIDDEN extern void interposer_first_##name(void);                                              \
    HIDDEN extern mpi_function interposer_to_##name;                                               \
    mpi_function interposer_to_##name = interposer_first_##name;                                   \
    __asm__(".text\n.globl MPI_" #name "\n.type MPI_" #name ", @function\n"                        \
            ".hidden interposer_first_" #name "\n.globl interposer_first_" #name "\n" GO(name));
MPI_CALLS(INTERPOSER)

static const struct {
    mpi_function *to;
    const char *name; /* name of the MPI's own function */
} interposers[] = {
#define INTERPOSER_ENTRY(name) {&interposer_to_##name, "PMPI_" #name},
    MPI_CALLS(INTERPOSER_ENTRY)
#undef INTERPOSER_ENTRY
};

/* Known MPIs: the name of their library, and the layer for each. */
static const struct {
    const char *library, *layer;
} kinds[] = {
    {"libmpi.so.40", "libgordian-mpi-openmpi.so"},
    {"libmpich.so.12", "libgordian-mpi-mpich.so"},
};

/* Loads a layer from the folder of this library. Returns NULL if it does not exist or has another
 * version. */
static const struct mpi_layer *load_layer(const char *name)
{
    char path[PATH_MAX];
    Dl_info own;
    const char *slash = dladdr(interposers, &own) ? strrchr(own.dli_fname, '/') : NULL;
    if (!slash)
        return NULL;
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own.dli_fname), own.dli_fname, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct mpi_layer *layer = library ? dlsym(library, MPI_LAYER_SYMBOL) : NULL;
    bool fits = layer && layer->version == MPI_RECORD_VERSION && layer->count == MPI_CALL_COUNT;
    return fits ? layer : NULL;
}

struct nth_name {
    size_t left;
    char path[PATH_MAX];
};

static int copy_nth_name(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct nth_name *name = context;
    if (name->left-- > 0)
        return 0;
    snprintf(name->path, sizeof name->path, "%s", info->dlpi_name);
    return 1;
}

/* Finds an MPI with an unknown library name: the first other library that defines MPI_Init. The
 * callback of dl_iterate_phdr must not call dlopen, because the loader holds its lock. */
static void *find_mpi(void)
{
    struct nth_name name;
    Dl_info own, theirs;
    for (size_t i = 1;; i++) { /* number 0 is the program, which resolves these names to this
                                  library */
        name.left = i;
        if (!dl_iterate_phdr(copy_nth_name, &name))
            return NULL;
        void *library = name.path[0] ? dlopen(name.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        void *symbol = library ? dlsym(library, "MPI_Init") : NULL;
        if (symbol && dladdr(symbol, &theirs) && dladdr(interposers, &own) &&
            theirs.dli_fbase != own.dli_fbase)
            return library;
    }
}

static int no_function(void)
{
    return OTHER;
}

/* Stub libraries for programs of one process have no PMPI names. */
static mpi_function find_mpi_function(void *library, const char *name)
{
    mpi_function function = (mpi_function)no_function;
    void *symbol = library ? dlsym(library, name) : NULL;
    if (library && !symbol)
        symbol = dlsym(library, name + 1);
    if (symbol)
        memcpy(&function, &symbol, sizeof function);
    return function;
}

/* Concurrent callers compute the same result. (unused: by C; the assembler above calls it.) */
void interposer_bind_all(void)
{
    void *library = NULL;
    const struct mpi_layer *layer = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !library; i++) {
        library = dlopen(kinds[i].library, RTLD_LAZY | RTLD_NOLOAD);
        layer = library ? load_layer(kinds[i].layer) : NULL;
    }
    if (!library)
        library = find_mpi();
    for (size_t i = 0; i < MPI_CALL_COUNT; i++) {
        mpi_function function =
            layer ? layer->calls[i] : find_mpi_function(library, interposers[i].name);
        __atomic_store_n(interposers[i].to, function, __ATOMIC_RELEASE);
    }
}
