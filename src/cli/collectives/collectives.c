/* gordian collectives: finds the rank that caused a training job to hang, from the dumps of
 * PyTorch's flight recorder. */
#include "sources/collectives/collectives.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include "cli/base/commands.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct files {
    struct dump_file *list;
    size_t count, room;
};

static bool add_file(struct files *files, const char *path, uint32_t rank)
{
    gordian_allocator memory = memory_allocator(NULL);
    if (!memory_grow(&memory, &files->list, &files->room, files->count + 1, sizeof *files->list))
        return false;
    struct dump_file *file = &files->list[files->count];
    *file = (struct dump_file){memory_copy_text(&memory, path), rank};
    if (!file->path)
        return false;
    files->count++;
    return true;
}

static int without_memory(struct cli *cli)
{
    cli_say(cli, "out of memory");
    return EXIT_BROKEN;
}

#define FOLDERS_MOST 16 /* nesting of directories */

static int add_folder(struct cli *cli, struct files *files, const char *path, unsigned depth);

/* Adds a file with a rank in its name, or a directory. Links to directories are not followed,
 * because they may form cycles. */
static int add_found(struct cli *cli, struct files *files, const char *path, unsigned depth)
{
    struct stat about;
    uint32_t rank = training_rank_of(path);
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return add_folder(cli, files, path, depth + 1);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return EXIT_NOTHING;
    if (rank == GORDIAN_NONE)
        return EXIT_NOTHING;
    return add_file(files, path, rank) ? EXIT_NOTHING : without_memory(cli);
}

/* Adds all files with a rank in their name from a directory and its subdirectories. */
static int add_folder(struct cli *cli, struct files *files, const char *path, unsigned depth)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int code = EXIT_NOTHING;
    if (!folder) {
        cli_say(cli, "cannot open '%.200s': %s", path, strerror(errno));
        return EXIT_BROKEN;
    }
    if (depth > FOLDERS_MOST)
        code = cli_misuse(cli, "'%.200s': directories are nested more than %d deep", path,
                          FOLDERS_MOST);
    while (code == EXIT_NOTHING && (entry = readdir(folder))) {
        char whole[PATH_MAX];
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name) >= sizeof whole)
            continue;
        code = add_found(cli, files, whole, depth);
    }
    closedir(folder);
    return code;
}

static int compare_paths(const void *left, const void *right)
{
    const struct dump_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

static int add_path(struct cli *cli, struct files *files, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        cli_say(cli, "cannot open '%.200s': %s", path, strerror(errno));
        return EXIT_MISUSE;
    }
    if (S_ISDIR(about.st_mode)) {
        size_t before = files->count;
        int code = add_folder(cli, files, path, 0);
        if (code == EXIT_NOTHING && files->count == before)
            code = cli_misuse(cli, "'%.200s' has no file with a rank in its name", path);
        return code;
    }
    /* A file operand without a rank in its name is reported as an unreadable dump. */
    return add_file(files, path, training_rank_of(path)) ? EXIT_NOTHING : without_memory(cli);
}

/* Adds an existing path, or the matches of a pattern that the shell did not expand. */
static int add_operand(struct cli *cli, struct files *files, const char *operand)
{
    struct stat about;
    glob_t found;
    if (stat(operand, &about) == 0 || !strpbrk(operand, "*?["))
        return add_path(cli, files, operand);
    int code = EXIT_NOTHING, outcome = glob(operand, 0, NULL, &found);
    if (outcome == GLOB_NOMATCH)
        return cli_misuse(cli, "nothing matches '%.200s'", operand);
    if (outcome != 0)
        return without_memory(cli);
    for (size_t i = 0; i < found.gl_pathc && code == EXIT_NOTHING; i++)
        code = add_path(cli, files, found.gl_pathv[i]);
    globfree(&found);
    return code;
}

struct settings {
    const char *svg, *dot, *trace;
    uint32_t threads;
};

struct product {
    const struct training *job;
    void (*write)(const struct training *job, struct output *out);
};

static gordian_status write_product(void *context, struct output *out, gordian_error *error)
{
    const struct product *product = context;
    (void)error;
    product->write(product->job, out);
    return GORDIAN_OK;
}

static int write_products(struct cli *cli, const struct settings *settings,
                          const struct training *job)
{
    const struct {
        const char *path;
        struct product product;
    } products[] = {
        {settings->svg, {job, training_svg}},
        {settings->dot, {job, training_dot}},
        {settings->trace, {job, training_trace}},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct product product = products[i].product;
        gordian_error error = {0};
        if (products[i].path &&
            cli_write_file(products[i].path, write_product, &product, &error) != GORDIAN_OK)
            return cli_fail(cli, NULL, &error);
    }
    return EXIT_NOTHING;
}

/* A finding takes precedence over what was not seen. */
static int verdict_code(struct cli *cli, const struct verdict *verdict)
{
    if (verdict->dump_count == 0) {
        cli_say(cli, "no dump could be read");
        return EXIT_MISUSE;
    }
    if (verdict->culprit_count || verdict->mismatch_count || verdict->cycle_count ||
        verdict->stalled_count)
        return EXIT_FOUND;
    return verdict_is_incomplete(verdict) ? EXIT_INCOMPLETE : EXIT_NOTHING;
}

static int show_job(struct cli *cli, const struct settings *settings, const struct training *job,
                    const struct verdict *verdict)
{
    const struct style style = cli_style(cli);
    if (cli->json)
        training_json(job, &cli->out);
    else
        training_text(job, &cli->out, &style, cli->verbose, cli->quiet);
    int code = write_products(cli, settings, job);
    return code == EXIT_NOTHING ? verdict_code(cli, verdict) : code;
}

static int judge_files(struct cli *cli, const struct settings *settings, const struct files *files)
{
    struct training *job = NULL;
    struct verdict verdict;
    gordian_error error = {0};
    gordian_status status = training_open(&job, &error);
    THEN(status, training_read(job, files->list, files->count, settings->threads, &error));
    THEN(status, training_judge(job, &verdict, &error));
    int code =
        status == GORDIAN_OK ? show_job(cli, settings, job, &verdict) : cli_fail(cli, NULL, &error);
    training_close(job);
    return code;
}

static int collectives_main(struct cli *cli, int argc, char **argv)
{
    struct settings settings = {0};
    struct files files = {0};
    const struct option options[] = {
        {"svg", 0, "FILE", "draw ranks x groups, blamed ranks highlighted", OPTION_FILE,
         &settings.svg, NULL},
        {"dot", 0, "FILE", "write the wait-for graph for Graphviz", OPTION_FILE, &settings.dot,
         NULL},
        {"trace", 0, "FILE", "write the waits as a snapshot for 'gordian check'", OPTION_FILE,
         &settings.trace, NULL},
        {"threads", 't', "N", "read by at most N threads (default: one per core)", OPTION_U32,
         &settings.threads, NULL},
        {0},
    };
    int code;
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands == 0)
        return cli_misuse(cli, "no dump to read: name a directory or a file");
    code = EXIT_NOTHING;
    for (int i = 0; i < operands && code == EXIT_NOTHING; i++)
        code = add_operand(cli, &files, argv[i]);
    if (code == EXIT_NOTHING && files.count == 0)
        code = cli_misuse(cli, "no dump to read");
    else if (code == EXIT_NOTHING) {
        qsort(files.list, files.count, sizeof *files.list, compare_paths);
        code = judge_files(cli, &settings, &files);
    }
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < files.count; i++)
        memory_free(&memory, (char *)(uintptr_t)files.list[i].path);
    memory_free(&memory, files.list);
    return code;
}

const struct command command_collectives = {
    .name = "collectives",
    .operands = "PATH...",
    .summary = "find the rank that made a training job hang",
    .about = "Reads the dumps of PyTorch's flight recorder, one per rank, pickle or JSON, from\n"
             "directories, files or patterns; file names contain the ranks. Reports faulty ranks\n"
             "(absent, silent, a stuck device, a mismatch), cycles, and ranks that only wait\n"
             "behind them. It needs no Python and executes nothing in a dump.\n",
    .run = collectives_main,
};
