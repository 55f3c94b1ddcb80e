/* Features in this build and installation, for `gordian info` and `gordian --version`. */
#include "cli/features.h"

#include "cli/parts/part.h"
#include "cli/run_library.h"
#include "output/report/symbol/symbol.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if __has_include("build-info.h")
#include "build-info.h"
#endif

/* Built without Meson: features are unknown. */
#ifndef GORDIAN_BUILD_NO_KERNELS
#define GORDIAN_BUILD_NO_KERNELS  "unknown"
#define GORDIAN_BUILD_NO_RUN      "unknown"
#define GORDIAN_BUILD_NO_STACKS   "unknown"
#define GORDIAN_BUILD_NO_SERVE    "unknown"
#define GORDIAN_BUILD_NO_PAGE     "unknown"
#define GORDIAN_BUILD_NO_TLS      "unknown"
#define GORDIAN_BUILD_NO_MPI      "unknown"
#define GORDIAN_BUILD_NO_POSTGRES "unknown"
#define GORDIAN_BUILD_NO_MARIADB  "unknown"
#define GORDIAN_BUILD_NO_IGRAPH   "unknown"
#endif

/* The MPI layers are next to the library of `gordian run`, or in the build folder. */
static bool has_layer(const struct features *features, const char *name)
{
    static const char *const places[] = {"", "../mpi/"};
    char path[sizeof features->library + 64];
    const char *slash = strrchr(features->library, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s/%slibgordian-mpi-%s.so", (int)(slash - features->library),
                 features->library, places[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Returns why a feature of a helper program is missing, or "". `missing` begins with the name of
 * the program. */
static const char *no_part(const char *built, const char *missing)
{
    char program[40], path[4096];
    snprintf(program, sizeof program, "%.*s", (int)strcspn(missing, " "), missing);
    return built[0] || part_find(program, path, sizeof path) ? built : missing;
}

static const char *no_stacks(struct features *features)
{
    if (GORDIAN_BUILD_NO_STACKS[0])
        return GORDIAN_BUILD_NO_STACKS;
#ifdef WITH_INSPECT
    if (!symbols_have_lines(features->no_stacks, sizeof features->no_stacks))
        return features->no_stacks;
#else
    (void)features;
#endif
    return "";
}

void features_list(struct features *features)
{
    features->library[0] = features->layers[0] = '\0';
    bool found = run_library(features->library, sizeof features->library, features->why,
                             sizeof features->why);
    const char *no_run = GORDIAN_BUILD_NO_RUN[0] ? GORDIAN_BUILD_NO_RUN : features->why;
    if (found) {
        static const char *const layers[][2] = {{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};
        size_t length = 0;
        for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
            if (has_layer(features, layers[i][0]))
                length +=
                    (size_t)snprintf(features->layers + length, sizeof features->layers - length,
                                     "%s%s", length ? " and " : "of programs of ", layers[i][1]);
        if (length)
            snprintf(features->layers + length, sizeof features->layers - length, ", for run");
    }
    const struct feature list[FEATURES] = {
        {"kernels", GORDIAN_BUILD_NO_KERNELS, "for NVIDIA GPUs"},
        {"run", found ? "" : no_run, features->library},
        {"ranks",
         features->layers[0] ? ""
         : found             ? "built without an MPI"
                             : no_run,
         features->layers},
        {"stacks", no_stacks(features), "of programs, for run and inspect"},
        {"serve", no_part(GORDIAN_BUILD_NO_SERVE, "gordian-serve is not installed"),
         "the service, and incidents of it"},
        {"page", no_part(GORDIAN_BUILD_NO_PAGE, "gordian-serve is not installed"),
         "of the service, for browsers"},
        {"tls", no_part(GORDIAN_BUILD_NO_TLS, "gordian-serve is not installed"),
         "tls:// for clients of the service"},
        {"mpi", cli_is_mpi() ? "" : no_part(GORDIAN_BUILD_NO_MPI, "gordian-mpi is not installed"),
         cli_is_mpi() ? "this is gordian-mpi" : "as gordian-mpi"},
        {"postgres", no_part(GORDIAN_BUILD_NO_POSTGRES, "gordian-watch is not installed"),
         "servers for gordian watch"},
        {"mariadb", no_part(GORDIAN_BUILD_NO_MARIADB, "gordian-watch is not installed"),
         "servers for gordian watch, also of MySQL"},
        {"lab", no_part("", "gordian-lab is not installed"), "bench and papers"},
        {"igraph", no_part(GORDIAN_BUILD_NO_IGRAPH, "gordian-lab is not installed"),
         "a baseline of gordian bench"},
    };
    memcpy(features->list, list, sizeof list);
}

void features_write(struct output *out)
{
    struct features features;
    features_list(&features);
    for (int there = 1; there >= 0; there--) {
        size_t count = 0;
        for (size_t i = 0; i < FEATURES; i++)
            if ((features.list[i].missing[0] == 0) == there)
                output_format(out, "%s %s",
                              count++ ? ""
                              : there ? "with:"
                                      : "without:",
                              features.list[i].name);
        if (count)
            output_text(out, there ? "\n" : " ('gordian info' shows why)\n");
    }
}
