/* gordian check: finds every deadlock in a snapshot of holds and waits. */
#include "cli/base/commands.h"
#include "cli/base/input.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "output/finding/from_witness.h"
#include "output/show/draw.h"
#include "output/show/json.h"

#include <string.h>
#include <sys/stat.h>

struct check {
    struct cli *cli;
    uint32_t threads;
    gordian_snapshot *snapshot;
    gordian_names *names;
    struct labels labels;
    struct drawing drawing;
    gordian_report report;
    uint32_t processes, resources;
    struct name_list list;
    gordian_edge *cycle; /* the edges of a cycle */
    size_t cycle_room;
};

/* ------------------------------------------------------------------ parts */

/* Lists a cycle as edges that alternate wait, hold, ..., as gordian_explain does. */
static gordian_status spell_cycle(struct check *check, const gordian_part *part,
                                  gordian_witness *witness, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t length = part->process_count;
    if (!memory_grow(&memory, &check->cycle, &check->cycle_room, 2 * length, sizeof *check->cycle))
        return fail_memory(error);
    for (size_t i = 0; i < length; i++) {
        uint32_t holder = part->processes[i + 1 < length ? i + 1 : 0];
        check->cycle[2 * i] = (gordian_edge){1, part->processes[i], part->resources[i], true};
        check->cycle[2 * i + 1] = (gordian_edge){1, holder, part->resources[i], false};
    }
    *witness = (gordian_witness){true, check->cycle, 2 * length};
    return GORDIAN_OK;
}

static gordian_status write_part_json(struct check *check, size_t number, const gordian_part *part,
                                      const gordian_witness *witness, gordian_error *error)
{
    struct finding finding;
    (void)part;
    bool done = finding_from_witness(&finding, "check", number, &check->labels, witness);
    if (done)
        finding_json(&finding, &check->cli->out);
    finding_close(&finding);
    return done ? GORDIAN_OK : fail_memory(error);
}

static gordian_status write_part_text(struct check *check, size_t number, const gordian_part *part,
                                      const gordian_witness *witness, gordian_error *error)
{
    struct output *out = &check->cli->out;
    style_color(&check->drawing.style, out, COLOR_BAD);
    output_format(out, "deadlock %zu", number);
    style_color(&check->drawing.style, out, COLOR_PLAIN);
    if (part->process_count == 1)
        output_text(out, ": a process waits for itself\n\n");
    else if (part->cycle)
        output_format(out, ": a cycle of %zu processes\n\n", part->process_count);
    else
        output_format(out, ": %zu processes wait for each other\n\n", part->process_count);
    if (!draw_witness(&check->drawing, witness, part->processes[0]))
        return fail_memory(error);
    output_char(out, '\n');
    return GORDIAN_OK;
}

static gordian_status write_parts(struct check *check, gordian_error *error)
{
    struct cli *cli = check->cli;
    for (size_t i = 0; i < check->report.part_count && !cli->out.failure; i++) {
        const gordian_part *part = &check->report.parts[i];
        gordian_witness witness;
        gordian_status status;
        if (part->cycle) {
            status = spell_cycle(check, part, &witness, error);
        } else {
            witness.cycle = false;
            status = gordian_snapshot_edges(check->snapshot, part, &witness.edges, &witness.count,
                                            error);
        }
        THEN(status,
             (cli->json ? write_part_json : write_part_text)(check, i + 1, part, &witness, error));
        if (status != GORDIAN_OK)
            return status;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the summary */

static gordian_status write_summary_json(struct check *check, gordian_error *error)
{
    const gordian_report *report = &check->report;
    if (!name_list_sorted(&check->list, &check->labels, report->deadlocked,
                          report->deadlocked_count))
        return fail_memory(error);
    struct json json;
    json_begin(&json, &check->cli->out);
    json_open(&json, "summary", '{');
    json_key_u64(&json, "processes", check->processes);
    json_key_u64(&json, "resources", check->resources);
    json_key_u64(&json, "parts", report->part_count);
    json_names(&json, "deadlocked", &check->list);
    json_key_text(&json, "engine", report->engine);
    json_key_text(&json, "model", gordian_model_text(report->model));
    json_end(&json);
    return GORDIAN_OK;
}

static const char *plural_ending(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void write_summary_text(struct check *check)
{
    const gordian_report *report = &check->report;
    struct output *out = &check->cli->out;
    const struct style *style = &check->drawing.style;
    size_t inside = 0;
    for (size_t i = 0; i < report->part_count; i++)
        inside += report->parts[i].process_count;
    if (report->part_count == 0) {
        style_text(style, out, COLOR_GOOD, "no deadlock");
    } else {
        style_color(style, out, COLOR_BAD);
        output_format(out, "%zu %s", report->part_count,
                      plural_ending(report->part_count, "deadlock", "deadlocks"));
        style_color(style, out, COLOR_PLAIN);
        output_format(out, " of %zu %s, %zu more %s behind", inside,
                      plural_ending(inside, "process", "processes"),
                      report->deadlocked_count - inside,
                      plural_ending(report->deadlocked_count - inside, "waits", "wait"));
    }
    output_format(out, "; %u %s and %u %s in all (%s, %s)\n", check->processes,
                  plural_ending(check->processes, "process", "processes"), check->resources,
                  plural_ending(check->resources, "resource", "resources"), report->engine,
                  gordian_model_text(report->model));
}

static gordian_status write_summary(struct check *check, gordian_error *error)
{
    if (check->cli->json)
        return write_summary_json(check, error);
    if (!check->cli->quiet)
        write_summary_text(check);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the command */

static int run_check(struct check *check, char *const *files, size_t count)
{
    const gordian_check_options options = {check->cli->engine, check->threads};
    gordian_error error = {0};
    gordian_judged judged;
    gordian_status status =
        gordian_check_files(&judged, (const char *const *)files, count, &options, &error);
    bool engine = status == GORDIAN_STATUS_UNAVAILABLE;
    if (status == GORDIAN_OK) {
        check->snapshot = judged.snapshot;
        check->names = judged.names;
        check->report = judged.report;
        check->processes = judged.processes;
        check->resources = judged.resources;
        check->labels = labels_of_names(check->names);
        status = write_parts(check, &error);
        THEN(status, write_summary(check, &error));
        /* damage in the names may be detected only now */
        THEN(status, gordian_names_check(check->names, &error));
    }
    size_t at = count == 1 ? 0 : judged.file;
    const char *file = at < count && !engine ? files[at] : NULL;
    if (status != GORDIAN_OK)
        return cli_fail(check->cli, file && strcmp(file, "-") == 0 ? "<stdin>" : file, &error);
    return check->report.part_count ? EXIT_FOUND : EXIT_NOTHING;
}

static int check_main(struct cli *cli, int argc, char **argv)
{
    int code;
    struct check check = {.cli = cli};
    const struct option options[] = {
        {"threads", 0, "N", "number of threads (default: one per core)", OPTION_U32, &check.threads,
         NULL},
        {0},
    };
    int operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands == 0)
        return cli_misuse(cli, "no FILE: name one ('-' is standard input)");
    for (int i = 0; i < operands; i++) { /* check all files before a large one is read */
        struct input input;
        struct stat about;
        /* opening and closing a named pipe would disturb its writer */
        if (strcmp(argv[i], "-") != 0 && stat(argv[i], &about) == 0 && S_ISFIFO(about.st_mode))
            continue;
        code = input_open(&input, cli, argv[i]);
        if (code != EXIT_NOTHING)
            return code;
        input_close(&input);
    }
    check.drawing = (struct drawing){cli_style(cli), &cli->out, &check.labels, cli->verbose};
    code = run_check(&check, argv, (size_t)operands);
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, check.cycle);
    name_list_free(&check.list);
    gordian_names_close(check.names);
    gordian_snapshot_close(check.snapshot);
    return code;
}

const struct command command_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "find every deadlock in a snapshot of holds and waits",
    .about = "Reads a snapshot of holds and waits ('-' is standard input), and\n"
             "shows every deadlock in it: each cycle or irreducible part. Several files are\n"
             "pieces of one snapshot. With --json, prints a line for each deadlock and a\n"
             "summary at the end.\n",
    .run = check_main,
};
