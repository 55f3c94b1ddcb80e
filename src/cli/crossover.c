/* gordian info --crossover: measures from which size on each engine is the fastest, end to end.
 * Every figure is the time of a process from its start to its end: it reads the input from a file,
 * opens a device and writes the report. */
#define _GNU_SOURCE
#include "cli/crossover.h"

#include "foundation/base/clock.h"
#include "foundation/base/engine.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MOST   16
#define ENGINES_MOST 5
#define SIZES_MOST   8
#define RUNS         3                    /* the median counts */
#define LONG_NS      UINT64_C(1500000000) /* larger sizes are skipped after such a time */
#define NO_TIME      UINT64_MAX           /* not measured */

/* The command of a family and its arguments. "#" stands for the size and "@" for the file. */
struct load {
    const char *family;
    const char *counts;          /* what the size counts */
    const char *gen[WORDS_MOST]; /* generates the file; empty: no file */
    const char *words[WORDS_MOST];
    const char *engines[ENGINES_MOST + 1]; /* in the order of the columns */
    uint32_t sizes[SIZES_MOST];
};

static const struct load loads[] = {
    {"detect",
     "processes and as many resources, 100 000 events",
     {"gen", "random", "-p", "#", "-r", "#", "-n", "100000", "--binary"},
     {"detect", "@"},
     {"sparse", "matrix", "cuda", "cuda-blocks", "reduce"},
     {64, 256, 1024, 4096}},
    {"check",
     "processes and as many resources, in chains",
     {"gen", "chains", "--snapshot", "-p", "#", "--binary"},
     {"check", "@"},
     {"sparse", "cuda"},
     {10000, 100000, 1000000, 10000000}},
    {"avoid",
     "processes, five resources, 2 000 requests and releases",
     {"gen", "bank", "-p", "#", "-n", "2000"},
     {"avoid", "@"},
     {"holt", "cuda", "dense"},
     {64, 256, 1024, 4096}},
    {"compose",
     "buffers in a row",
     {"gen", "circuit-chain", "-p", "#"},
     {"compose", "@"},
     {"cpu", "cuda", "dense"},
     {8, 12, 16, 20, 24, 26, 28}},
    {"makespan",
     "warps of L5 C9 L2 C9 with four schedulers",
     {NULL},
     {"makespan", "-k", "LLLLLCCCCCCCCCLLCCCCCCCCC", "-u", "L=1,C=4", "--schedulers", "4", "-w",
      "#"},
     {"exact", "cuda"},
     {4, 8, 12, 16}},
};

struct figures {
    const struct load *load;
    char self[PATH_MAX];
    char path[PATH_MAX]; /* of the file */
    size_t sizes;        /* that were measured */
    uint64_t ns[SIZES_MOST][ENGINES_MOST];
    char taken[SIZES_MOST][24]; /* engine that auto chose */
    bool usable[ENGINES_MOST];
};

/* ------------------------------------------------------------------ processes */

/* Fills in the size and the file, and appends the engine. */
static void fill_words(const struct figures *figures, const char *const *from, uint32_t size,
                       const char *engine, char *number, const char **words)
{
    size_t count = 0;
    snprintf(number, 16, "%" PRIu32, size);
    words[count++] = figures->self;
    for (; *from; from++)
        words[count++] = strcmp(*from, "#") == 0   ? number
                         : strcmp(*from, "@") == 0 ? figures->path
                                                   : *from;
    if (engine) {
        words[count++] = "--engine";
        words[count++] = engine;
        words[count++] = strcmp(engine, "auto") == 0 ? "--json" : "--quiet";
    }
    words[count] = NULL;
}

/* Runs a command with its output in `file`. False: it failed. */
static bool run_words(const char *const *words, int file, uint64_t *ns)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, file, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    uint64_t start = clock_ns();
    bool fine = posix_spawn(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
                            environ) == 0;
    while (fine && waitpid(child, &status, 0) < 0)
        fine = errno == EINTR;
    *ns = clock_ns() - start;
    posix_spawn_file_actions_destroy(&actions);
    return fine && WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_FOUND;
}

/* Finds the engine that a JSON report names, near its end. */
static void find_engine(FILE *file, char *name, size_t size)
{
    static const char key[] = "\"engine\":\"";
    char text[4096];
    const char *found = NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file), tail = (long)sizeof text - 1;
    fseek(file, length > tail ? length - tail : 0, SEEK_SET);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    for (const char *at = text; (at = strstr(at, key)); at++)
        found = at + sizeof key - 1;
    snprintf(name, size, "%.*s", found ? (int)strcspn(found, "\"") : 0, found ? found : "");
}

/* Returns the time of a process with this engine; NO_TIME: failed. */
static uint64_t time_once(const struct figures *figures, uint32_t size, const char *engine,
                          char *taken, size_t capacity)
{
    const char *words[WORDS_MOST + 5];
    char number[16];
    uint64_t ns = NO_TIME;
    FILE *file = temporary_stream(NULL);
    if (!file)
        return NO_TIME;
    fill_words(figures, figures->load->words, size, engine, number, words);
    if (!run_words(words, fileno(file), &ns))
        ns = NO_TIME;
    else if (taken)
        find_engine(file, taken, capacity);
    fclose(file);
    return ns;
}

static uint64_t time_engine(const struct figures *figures, uint32_t size, const char *engine)
{
    uint64_t ns[RUNS] = {0};
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t now = time_once(figures, size, engine, NULL, 0);
        if (now >= LONG_NS) /* once is enough, or it failed */
            return now;
        size_t at = i;
        for (; at > 0 && ns[at - 1] > now; at--)
            ns[at] = ns[at - 1];
        ns[at] = now;
    }
    return ns[RUNS / 2];
}

/* ------------------------------------------------------------------ a family */

static bool is_available(const char *family, const char *name)
{
    gordian_engine_info engine;
    for (size_t i = 0; gordian_engine(i, &engine) == GORDIAN_OK; i++)
        if (strcmp(engine.family, family) == 0 && strcmp(engine.name, name) == 0)
            return engine.available;
    return false;
}

static bool make_file(struct figures *figures, uint32_t size, gordian_error *error)
{
    const char *words[WORDS_MOST + 5];
    char number[16];
    uint64_t ns;
    int file;
    if (!figures->load->gen[0])
        return true;
    if (temporary_file("gordian", "", figures->path, sizeof figures->path, &file, error) !=
        GORDIAN_OK)
        return false;
    fill_words(figures, figures->load->gen, size, NULL, number, words);
    bool fine = run_words(words, file, &ns);
    close(file);
    return fine;
}

/* False: all engines take too long. */
static bool time_size(struct figures *figures, size_t at)
{
    const struct load *load = figures->load;
    bool somebody = false;
    for (size_t e = 0; e < ENGINES_MOST; e++) {
        uint64_t before = at ? figures->ns[at - 1][e] : 0;
        bool go_on = load->engines[e] && figures->usable[e] && before < LONG_NS;
        figures->ns[at][e] =
            go_on ? time_engine(figures, load->sizes[at], load->engines[e]) : NO_TIME;
        somebody |= figures->ns[at][e] != NO_TIME;
    }
    if (somebody)
        time_once(figures, load->sizes[at], "auto", figures->taken[at], sizeof figures->taken[at]);
    return somebody;
}

/* False: the file could not be written; `error` has the reason if there is no space for it. */
static bool measure_family(struct cli *cli, const struct load *load, uint64_t most,
                           struct figures *figures, gordian_error *error)
{
    bool fine = true, somebody = true;
    figures->load = load;
    for (size_t e = 0; load->engines[e]; e++)
        figures->usable[e] = is_available(load->family, load->engines[e]);
    for (size_t at = 0; at < SIZES_MOST && load->sizes[at] && fine && somebody; at++) {
        if (most && load->sizes[at] > most)
            break;
        if (progress_due(&cli->progress))
            progress_show(&cli->progress, "%s, %" PRIu32, load->family, load->sizes[at]);
        fine = make_file(figures, load->sizes[at], error);
        somebody = fine && time_size(figures, at);
        figures->sizes += somebody;
        if (load->gen[0])
            unlink(figures->path);
    }
    progress_clear(&cli->progress);
    return fine;
}

/* ------------------------------------------------------------------ report */

/* Returns the fastest engine. The usual engine counts as fastest unless another one is 10 % faster:
 * smaller differences are noise. */
static size_t quickest_at(const struct figures *figures, size_t at)
{
    const uint64_t *ns = figures->ns[at];
    size_t best = 0;
    for (size_t e = 1; e < ENGINES_MOST; e++)
        if (ns[e] < (best == 0 && ns[0] != NO_TIME ? ns[0] / 10 * 9 : ns[best]))
            best = e;
    return best;
}

/* Returns the smallest size from which this engine was the fastest at all measured sizes; 0: none.
 */
static uint32_t quickest_from(const struct figures *figures, size_t engine)
{
    uint32_t from = 0;
    for (size_t at = figures->sizes; at-- > 0 && quickest_at(figures, at) == engine;)
        from = figures->load->sizes[at];
    return from;
}

static const char *reason_of(const char *family, const char *name)
{
    gordian_engine_info engine;
    for (size_t i = 0; gordian_engine(i, &engine) == GORDIAN_OK; i++)
        if (strcmp(engine.family, family) == 0 && strcmp(engine.name, name) == 0)
            return engine.reason;
    return "it is not built in";
}

static void write_table(struct output *out, const struct figures *figures)
{
    const struct load *load = figures->load;
    output_format(out, "  %s: %s\n    %10s", load->family, load->counts, "");
    for (size_t e = 0; load->engines[e]; e++)
        output_format(out, "%14s", load->engines[e]);
    output_text(out, "  auto chooses\n");
    for (size_t at = 0; at < figures->sizes; at++) {
        output_format(out, "    %10" PRIu32, load->sizes[at]);
        for (size_t e = 0; load->engines[e]; e++) {
            if (figures->ns[at][e] == NO_TIME)
                output_format(out, "%14s", "-");
            else
                output_format(out, "%11.1f ms", (double)figures->ns[at][e] / 1e6);
        }
        output_format(out, "  %s\n", figures->taken[at]);
    }
}

static void write_family(struct output *out, const struct figures *figures)
{
    const struct load *load = figures->load;
    write_table(out, figures);
    for (size_t e = 0; load->engines[e]; e++) {
        uint32_t from = quickest_from(figures, e);
        if (!figures->usable[e])
            output_format(out, "    %s is not available here: %s\n", load->engines[e],
                          reason_of(load->family, load->engines[e]));
        else if (from)
            output_format(out, "    here: %s is the fastest %s %" PRIu32 "%s\n", load->engines[e],
                          from == load->sizes[0] ? "for all sizes from" : "from", from,
                          from == load->sizes[0] ? ", the smallest measured, on" : " on");
    }
    const struct engine_crossover *recorded = engine_crossover(load->family);
    if (recorded->from == ENGINE_NEVER)
        output_format(out, "    auto: %s, always: %s\n", recorded->usual, recorded->why);
    else
        output_format(out, "    auto: %s, and %s from %" PRIu64 " %s on: %s\n", recorded->usual,
                      recorded->other, recorded->from, recorded->of, recorded->why);
}

static void write_json_sizes(struct json *json, const struct figures *figures)
{
    const struct load *load = figures->load;
    json_open(json, "sizes", '[');
    for (size_t at = 0; at < figures->sizes; at++) {
        json_open(json, NULL, '{');
        json_key_u64(json, "size", load->sizes[at]);
        json_open(json, "seconds", '{');
        for (size_t e = 0; load->engines[e]; e++)
            if (figures->ns[at][e] != NO_TIME)
                json_key_number(json, load->engines[e], (double)figures->ns[at][e] / 1e9);
        json_shut(json);
        json_key_text(json, "auto", figures->taken[at]);
        json_shut(json);
    }
    json_shut(json);
}

static void write_json_family(struct json *json, const struct figures *figures)
{
    const struct load *load = figures->load;
    const struct engine_crossover *recorded = engine_crossover(load->family);
    json_open(json, NULL, '{');
    json_key_text(json, "family", load->family);
    json_key_text(json, "counts", load->counts);
    write_json_sizes(json, figures);
    json_open(json, "quickest_from", '{');
    for (size_t e = 0; load->engines[e]; e++) {
        uint32_t from = quickest_from(figures, e);
        if (from)
            json_key_u64(json, load->engines[e], from);
    }
    json_shut(json);
    json_open(json, "not_available", '{');
    for (size_t e = 0; load->engines[e]; e++)
        if (!figures->usable[e])
            json_key_text(json, load->engines[e], reason_of(load->family, load->engines[e]));
    json_shut(json);
    json_open(json, "recorded", '{');
    json_key_text(json, "usual", recorded->usual);
    if (recorded->from != ENGINE_NEVER) {
        json_key_text(json, "other", recorded->other);
        json_key_u64(json, "from", recorded->from);
        json_key_text(json, "of", recorded->of);
    }
    json_key_text(json, "why", recorded->why);
    json_shut(json);
    json_shut(json);
}

int crossover_write(struct cli *cli, struct json *json, uint64_t most)
{
    struct figures figures = {0};
    gordian_error error = {0};
    bool fine = program_path(figures.self, sizeof figures.self);
    if (json)
        json_open(json, "crossover", '[');
    else
        output_text(&cli->out, "crossover, from the start of a process to its end\n");
    for (size_t i = 0; i < sizeof loads / sizeof *loads && fine; i++) {
        figures.sizes = 0;
        fine = measure_family(cli, &loads[i], most, &figures, &error);
        if (fine && json)
            write_json_family(json, &figures);
        else if (fine)
            write_family(&cli->out, &figures);
    }
    if (json)
        json_shut(json);
    if (fine)
        return EXIT_NOTHING;
    if (error.status != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    cli_say(cli, "cannot start this program");
    return EXIT_BROKEN;
}
