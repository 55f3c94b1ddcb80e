/* gordian check: finds every deadlock in a snapshot of holds and waits. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "show/draw.h"
#include "show/json.h"

#include <string.h>

struct check {
    struct cli *cli;
    gordian_snapshot *snapshot;
    gordian_names *names;
    struct labels labels;
    struct drawing drawing;
    gordian_report report;
    uint32_t processes, resources;
    struct name_list list;
    gordian_edge *cycle; /* the edges of a cycle, spelled out */
    size_t cycle_room;
};

/* ------------------------------------------------------------------ parts */

/* A cycle as edges that alternate wait, hold, ..., as gordian_explain has them. */
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

static gordian_status find_witness(struct check *check, const gordian_part *part,
                                   gordian_witness *witness, gordian_error *error)
{
    if (part->cycle)
        return spell_cycle(check, part, witness, error);
    witness->cycle = false;
    return gordian_snapshot_edges(check->snapshot, part, &witness->edges, &witness->count, error);
}

static gordian_status list_sorted(struct check *check, const uint32_t *processes, size_t count,
                                  gordian_error *error)
{
    if (!name_list_sorted(&check->list, &check->labels, processes, count))
        return fail_memory(error);
    return GORDIAN_OK;
}

static gordian_status write_part_json(struct check *check, size_t number, const gordian_part *part,
                                      const gordian_witness *witness, gordian_error *error)
{
    gordian_status status = list_sorted(check, part->processes, part->process_count, error);
    if (status != GORDIAN_OK)
        return status;
    struct json json;
    json_begin(&json, &check->cli->out);
    json_key_u64(&json, "part", number);
    json_key_text(&json, "kind", part->cycle ? "cycle" : "irreducible");
    json_witness(&json, "witness", &check->labels, witness);
    json_names(&json, "processes", &check->list);
    json_end(&json);
    return GORDIAN_OK;
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
        gordian_status status = find_witness(check, part, &witness, error);
        if (status == GORDIAN_OK)
            status = (cli->json ? write_part_json : write_part_text)(check, i + 1, part, &witness,
                                                                     error);
        if (status != GORDIAN_OK)
            return status;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the summary */

static gordian_status write_summary_json(struct check *check, gordian_error *error)
{
    const gordian_report *report = &check->report;
    gordian_status status = list_sorted(check, report->deadlocked, report->deadlocked_count, error);
    if (status != GORDIAN_OK)
        return status;
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

static gordian_status judge_snapshot(struct check *check, const gordian_source *source,
                                     gordian_error *error)
{
    gordian_status status =
        gordian_snapshot_read(&check->snapshot, &check->names, source, NULL, error);
    if (status != GORDIAN_OK)
        return status;
    check->labels = labels_of_names(check->names);
    check->processes = gordian_snapshot_processes(check->snapshot);
    check->resources = gordian_snapshot_resources(check->snapshot);
    status =
        gordian_snapshot_check_with(check->snapshot, check->cli->engine, &check->report, error);
    if (status == GORDIAN_OK)
        status = write_parts(check, error);
    if (status == GORDIAN_OK)
        status = write_summary(check, error);
    return status;
}

static int run_check(struct check *check, const char *path)
{
    struct input input;
    gordian_error error = {0};
    int code = input_open(&input, check->cli, path);
    if (code != EXIT_NOTHING)
        return code;
    gordian_status status = judge_snapshot(check, &input.source, &error);
    if (status != GORDIAN_OK)
        code =
            cli_fail(check->cli, status == GORDIAN_STATUS_UNAVAILABLE ? NULL : input.name, &error);
    else
        code = check->report.part_count ? EXIT_FOUND : EXIT_NOTHING;
    input_close(&input);
    return code;
}

/* Known before a large file is read in vain. */
static bool is_engine(const char *name)
{
    gordian_engine_info info;
    for (size_t i = 0; gordian_engine(i, &info) == GORDIAN_OK; i++)
        if (strcmp(info.family, "check") == 0 && strcmp(info.name, name) == 0)
            return true;
    return strcmp(name, "auto") == 0;
}

static int check_main(struct cli *cli, int argc, char **argv)
{
    int code;
    int operands = cli_parse(cli, NULL, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands != 1)
        return operands ? cli_misuse(cli, "one FILE at a time: '%.200s' is one too many", argv[1])
                        : cli_misuse(cli, "no FILE ('-' is standard input)");
    if (!is_engine(cli->engine)) {
        cli_say(cli, "there is no engine '%.40s' for snapshots: 'gordian info' lists them",
                cli->engine);
        return EXIT_UNAVAILABLE;
    }
    struct check check = {.cli = cli};
    check.drawing = (struct drawing){cli_style(cli), &cli->out, &check.labels, cli->verbose};
    code = run_check(&check, argv[0]);
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, check.cycle);
    name_list_free(&check.list);
    gordian_names_close(check.names);
    gordian_snapshot_close(check.snapshot);
    return code;
}

const struct command command_check = {
    .name = "check",
    .operands = "FILE",
    .summary = "find every deadlock in a snapshot of holds and waits",
    .about = "Reads a snapshot, who holds and who waits for what ('-' is standard input), and\n"
             "shows every deadlock in it: each cycle or irreducible part. With --json each is\n"
             "a line, and a summary the last one.\n",
    .run = check_main,
};
