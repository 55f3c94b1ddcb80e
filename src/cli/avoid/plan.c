/* gordian avoid --plan: how many units do these claims need, with avoidance and without?
 *
 * The declarations come from FILE, or are generated for N equal workers. They are read twice: as a
 * plan, which computes what is needed without avoidance, and into a bank, which computes the slack
 * with avoidance. */
#include "cli/avoid/avoid.h"
#include "output/show/json.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"
#include "foundation/base/names/interner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Larger deadlocks are abbreviated, unless --verbose. */
#define MEMBERS_MOST 12
/* Equal workers are generated one by one. */
#define WORKERS_MOST 10000000

struct planning {
    struct avoid *avoid;
    const char *name;   /* of the input, for messages */
    struct output text; /* the declarations */
    size_t next;        /* offset of the text to read next */
    bool units_known;
    gordian_plan *plan;
    gordian_plan_answer answer;
    uint64_t *slack; /* by resource of the plan; NULL: unknown */
    int column;      /* width of a column of the table */
};

/* ------------------------------------------------------------------ input */

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    struct planning *planning = context;
    size_t left = planning->text.used - planning->next;
    size_t count = size < left ? size : left;
    memcpy(buffer, planning->text.buffer + planning->next, count);
    planning->next += count;
    return (ptrdiff_t)count;
}

static gordian_source from_the_start(struct planning *planning)
{
    planning->next = 0;
    return (gordian_source){read_text, planning};
}

static gordian_status no_memory_for_text(const struct planning *planning, gordian_error *error)
{
    return planning->text.failure ? fail_memory(error) : GORDIAN_OK;
}

static int take_file(struct planning *planning, const char *path)
{
    struct avoid *avoid = planning->avoid;
    gordian_error error = {0};
    char piece[65536];
    ptrdiff_t count;
    TRY_CODE(input_open(&avoid->input, avoid->cli, path));
    planning->name = avoid->input.name;
    planning->units_known = true;
    const gordian_source *source = &avoid->input.source;
    while ((count = source->read(source->context, piece, sizeof piece)) > 0)
        output_bytes(&planning->text, piece, (size_t)count);
    if (count < 0) {
        cli_say(avoid->cli, "%s: reading failed: %s", planning->name, strerror(errno));
        return EXIT_BROKEN;
    }
    if (no_memory_for_text(planning, &error))
        return cli_fail(avoid->cli, NULL, &error);
    return EXIT_NOTHING;
}

/* Parses NAME=N and reports errors. */
static bool parse_pair(struct cli *cli, const char *option, const char *text, size_t length,
                       gordian_word *name, uint64_t *value)
{
    gordian_word word = {text, (uint32_t)length, 1}, number;
    const char *why;
    word_split(&word, name, &number);
    if (number.text && names_valid(name->text, name->length, &why) &&
        parse_u64(number.text, number.length, value, &why))
        return true;
    cli_misuse(cli, "%s: '%.*s' is not NAME=NUMBER", option, (int)(length < 80 ? length : 80),
               text);
    return false;
}

/* Parses one pair of a comma-separated list. Moves *list to the next; NULL after the last one.
 * False: malformed, and reported. */
static bool next_pair(struct cli *cli, const char *option, const char **list, gordian_word *name,
                      uint64_t *value)
{
    const char *start = *list, *comma = strchr(start, ',');
    size_t length = comma ? (size_t)(comma - start) : strlen(start);
    *list = comma ? comma + 1 : NULL;
    return parse_pair(cli, option, start, length, name, value);
}

/* Declares a resource with the units from --units; without the option, as many as possible. */
static bool put_units(struct planning *planning, const gordian_word *resource)
{
    struct avoid *avoid = planning->avoid;
    uint64_t units = UINT64_MAX, value;
    gordian_word name;
    bool found = false;
    for (const char *list = avoid->units; list;) {
        if (!next_pair(avoid->cli, "--units", &list, &name, &value))
            return false;
        if (name.length != resource->length || memcmp(name.text, resource->text, name.length) != 0)
            continue;
        units = value;
        found = true;
    }
    if (avoid->units && (!found || units == 0)) {
        cli_misuse(avoid->cli, "--units has no number for '%.*s'", (int)resource->length,
                   resource->text);
        return false;
    }
    output_text(&planning->text, "resource ");
    struct output *out = &planning->text;
    output_bytes(out, resource->text, resource->length);
    output_format(&planning->text, " %llu\n", (unsigned long long)units);
    return true;
}

/* Generates the declarations of N equal workers. */
static int write_workers(struct planning *planning, int operands, char **argv)
{
    struct avoid *avoid = planning->avoid;
    gordian_error error = {0};
    planning->name = "<claims>";
    planning->units_known = avoid->units != NULL;
    if (operands == 0)
        return cli_misuse(avoid->cli, "--workers: give a CLAIM, such as connection=2");
    if (avoid->workers > WORKERS_MOST)
        return cli_misuse(
            avoid->cli,
            "--workers: at most %u; for more, one resource needs N x (CLAIM - 1) + 1 units",
            WORKERS_MOST);
    for (int i = 0; i < operands; i++) {
        gordian_word name;
        uint64_t claim;
        if (!parse_pair(avoid->cli, "CLAIM", argv[i], strlen(argv[i]), &name, &claim) ||
            !put_units(planning, &name))
            return EXIT_MISUSE;
    }
    for (uint64_t worker = 1; worker <= avoid->workers && !planning->text.failure; worker++) {
        output_format(&planning->text, "process worker%llu", (unsigned long long)worker);
        for (int i = 0; i < operands; i++)
            output_format(&planning->text, " %s", argv[i]);
        output_char(&planning->text, '\n');
    }
    if (no_memory_for_text(planning, &error))
        return cli_fail(avoid->cli, NULL, &error);
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ answers */

/* Parses a pair whose name must be a resource. */
static bool next_resource(struct planning *planning, const char *option, const char **list,
                          uint32_t *resource, uint64_t *value)
{
    struct cli *cli = planning->avoid->cli;
    gordian_word name;
    if (!next_pair(cli, option, list, &name, value))
        return false;
    *resource = gordian_plan_find_resource(planning->plan, name.text, name.length);
    if (*resource == GORDIAN_NONE)
        cli_misuse(cli, "%s: there is no resource '%.*s'", option,
                   (int)(name.length < 80 ? name.length : 80), name.text);
    return *resource != GORDIAN_NONE;
}

static int take_lists(struct planning *planning)
{
    uint32_t resource;
    uint64_t value;
    /* The known resources are declared already. */
    for (const char *list = planning->avoid->units; list;)
        if (!next_resource(planning, "--units", &list, &resource, &value))
            return EXIT_MISUSE;
    for (const char *list = planning->avoid->costs; list;) {
        if (!next_resource(planning, "--cost", &list, &resource, &value))
            return EXIT_MISUSE;
        gordian_plan_set_cost(planning->plan, resource, value, NULL);
    }
    return EXIT_NOTHING;
}

/* Reads the declarations as a plan and solves it. */
static int solve_plan(struct planning *planning)
{
    struct cli *cli = planning->avoid->cli;
    gordian_error error = {0};
    gordian_source source = from_the_start(planning);
    if (gordian_plan_read(&planning->plan, &source, NULL, &error) != GORDIAN_OK)
        return cli_fail(cli, planning->name, &error);
    TRY_CODE(take_lists(planning));
    if (!gordian_plan_process_name(planning->plan, 0)) {
        fail(&error, GORDIAN_STATUS_INPUT,
             "the plan is empty: declare resources and the claims of each process");
        return cli_fail(cli, planning->name, &error);
    }
    if (gordian_plan_solve(planning->plan, &planning->answer, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    return EXIT_NOTHING;
}

/* Does the largest claim on every resource fit? */
static bool claims_fit(const struct planning *planning)
{
    for (size_t j = 0; j < planning->answer.pool_count; j++)
        if (planning->answer.pools[j].largest > planning->answer.pools[j].units)
            return false;
    return true;
}

/* Replays the same text into a bank and asks for the slack. It is unknown if a claim does not fit
 * or the events have errors: then the bank is not in the intended state. */
static int ask_bank(struct planning *planning)
{
    struct avoid *avoid = planning->avoid;
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error error = {0};
    size_t count = planning->answer.pool_count;
    gordian_source source = from_the_start(planning);
    avoid->answer.detail = GORDIAN_DETAIL_VERDICT;
    if (avoid_open_bank(avoid, &error) != GORDIAN_OK)
        return cli_fail(avoid->cli, NULL, &error);
    if (avoid->workers != AVOID_NO_WORKERS && (!planning->units_known || !claims_fit(planning)))
        return EXIT_NOTHING; /* no slack, and no file for messages */
    int code = avoid_replay(avoid, &source, planning->name, NULL);
    if (code != EXIT_NOTHING || avoid->tally.errors)
        return code;
    planning->slack = memory_alloc(&memory, (count + 1) * sizeof *planning->slack);
    if (!planning->slack)
        return cli_fail(avoid->cli, NULL, (fail_memory(&error), &error));
    for (uint32_t j = 0; j < count; j++) {
        const char *name = gordian_plan_resource_name(planning->plan, j);
        uint32_t id = gordian_bank_find_resource(avoid->bank, name, strlen(name));
        if (gordian_bank_slack(avoid->bank, id, &planning->slack[j], &error) != GORDIAN_OK)
            return cli_fail(avoid->cli, NULL, &error);
    }
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ names for drawings */

static const char *plan_process(const void *context, uint32_t process)
{
    return gordian_plan_process_name(context, process);
}

static const char *plan_resource(const void *context, uint32_t resource)
{
    return gordian_plan_resource_name(context, resource);
}

/* ------------------------------------------------------------------ JSON */

static void write_json_pool(struct planning *planning, uint32_t resource)
{
    const gordian_pool *pool = &planning->answer.pools[resource];
    struct json json;
    json_begin(&json, &planning->avoid->cli->out);
    json_key_text(&json, "resource", gordian_plan_resource_name(planning->plan, resource));
    if (planning->units_known)
        json_key_u64(&json, "units", pool->units);
    json_key_u64(&json, "cost", pool->cost);
    json_key_u64(&json, "claimants", pool->claimants);
    json_key_u64(&json, "claims", pool->claims);
    json_key_u64(&json, "largest", pool->largest);
    json_key_u64(&json, "alone", pool->alone);
    json_key_u64(&json, "least", pool->least);
    if (planning->units_known)
        json_key_u64(&json, "missing", pool->missing);
    if (planning->slack)
        json_key_u64(&json, "slack", planning->slack[resource]);
    json_end(&json);
}

static void write_json(struct planning *planning)
{
    const gordian_plan_answer *answer = &planning->answer;
    for (uint32_t j = 0; j < answer->pool_count; j++)
        write_json_pool(planning, j);
    struct json json;
    json_begin(&json, &planning->avoid->cli->out);
    json_open(&json, "plan", '{');
    json_key_u64(&json, "least_units", answer->least_units);
    json_key_u64(&json, "least_cost", answer->least_cost);
    if (planning->units_known) {
        json_key_bool(&json, "fits", claims_fit(planning));
        json_key_bool(&json, "deadlock_free", answer->safe);
        json_key_u64(&json, "missing_units", answer->missing_units);
        json_key_u64(&json, "missing_cost", answer->missing_cost);
        if (!answer->safe) {
            struct labels labels = (struct labels){
                .process = plan_process, .resource = plan_resource, .context = planning->plan};
            json_witness(&json, "witness", &labels, &answer->witness);
        }
    }
    json_key_text(&json, "engine", gordian_bank_engine_name(planning->avoid->bank));
    json_end(&json);
}

/* ------------------------------------------------------------------ text */

/* Width of the columns, unless a number is longer. */
#define COLUMN 11

static int count_digits(uint64_t value)
{
    return snprintf(NULL, 0, "%llu", (unsigned long long)value);
}

/* Returns the width of the longest number: units, claims, or units to add. */
static int column_width(const struct planning *planning)
{
    int width = COLUMN;
    for (size_t j = 0; j < planning->answer.pool_count; j++) {
        const gordian_pool *pool = &planning->answer.pools[j];
        int longest = count_digits(pool->claims);
        if (planning->units_known && count_digits(pool->units) > longest)
            longest = count_digits(pool->units);
        if (planning->units_known && pool->missing && 1 + count_digits(pool->missing) > longest)
            longest = 1 + count_digits(pool->missing);
        width = longest > width ? longest : width;
    }
    return width;
}

static void write_cell(const struct planning *planning, const char *text)
{
    output_format(&planning->avoid->cli->out, "  %*s", planning->column, text);
}

static void write_number(const struct planning *planning, const char *sign, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%s%llu", sign, (unsigned long long)value);
    write_cell(planning, text);
}

static void write_row(struct planning *planning, uint32_t resource, size_t width)
{
    const struct style *style = &planning->avoid->style;
    struct output *out = &planning->avoid->cli->out;
    const gordian_pool *pool = &planning->answer.pools[resource];
    const char *name = gordian_plan_resource_name(planning->plan, resource);
    style_name(style, out, COLOR_RESOURCE, name);
    output_format(out, "%*s", (int)(width - style_width(style, name)), "");
    if (planning->units_known)
        write_number(planning, "", pool->units);
    write_number(planning, "", pool->claims);
    write_number(planning, "", pool->largest);
    write_number(planning, "", pool->least);
    if (planning->units_known)
        write_number(planning, pool->missing ? "+" : "", pool->missing);
    if (planning->slack)
        write_number(planning, "", planning->slack[resource]);
    else if (planning->units_known)
        write_cell(planning, "?");
    output_char(out, '\n');
}

/* "17 units", ", costing 30" where units do not all cost 1. */
static void write_total(struct planning *planning, uint64_t units, uint64_t cost)
{
    struct output *out = &planning->avoid->cli->out;
    output_format(out, "%llu unit%s", (unsigned long long)units, units == 1 ? "" : "s");
    if (planning->avoid->costs)
        output_format(out, ", costing %llu", (unsigned long long)cost);
}

static void advise_on_avoidance(struct planning *planning)
{
    const struct style *style = &planning->avoid->style;
    struct output *out = &planning->avoid->cli->out;
    const gordian_plan_answer *answer = &planning->answer;
    if (!planning->units_known) {
        output_text(out, "With avoidance, the largest claim on each resource is enough; the "
                         "processes then take turns.\n");
        return;
    }
    if (claims_fit(planning)) {
        output_text(out, "With avoidance there are ");
        style_text(style, out, COLOR_GOOD, "enough");
        output_text(out, ": every claim fits.\n");
        return;
    }
    output_text(out, "Even with avoidance there are ");
    style_text(style, out, COLOR_BAD, "too few");
    output_text(out, ":");
    bool first = true;
    for (uint32_t j = 0; j < answer->pool_count; j++) {
        if (answer->pools[j].largest <= answer->pools[j].units)
            continue;
        output_text(out, first ? " " : ", ");
        style_name(style, out, COLOR_RESOURCE, gordian_plan_resource_name(planning->plan, j));
        output_format(out, " needs %llu", (unsigned long long)answer->pools[j].largest);
        first = false;
    }
    output_text(out, ".\n");
}

/* " gpu=2". */
static void write_units(struct planning *planning, const gordian_edge *edge)
{
    struct output *out = &planning->avoid->cli->out;
    output_char(out, ' ');
    style_name(&planning->avoid->style, out, COLOR_RESOURCE,
               gordian_plan_resource_name(planning->plan, edge->resource));
    output_format(out, "=%llu", (unsigned long long)edge->units);
}

/* "  ann holds gpu=1 disk=2, waits for gpu=1": writes the member at the start of the edges and
 * returns its number of edges. */
static size_t write_member(struct planning *planning, const gordian_edge *edges, size_t count)
{
    const struct style *style = &planning->avoid->style;
    struct output *out = &planning->avoid->cli->out;
    size_t next = 1;
    output_text(out, "  ");
    style_name(style, out, COLOR_PROCESS,
               gordian_plan_process_name(planning->plan, edges[0].process));
    for (; next < count && !edges[next].waits; next++) {
        output_text(out, next == 1 ? " holds" : "");
        write_units(planning, &edges[next]);
    }
    output_text(out, next > 1 ? ", waits for" : " waits for");
    write_units(planning, &edges[0]);
    output_char(out, '\n');
    return next;
}

static void advise_on_pools(struct planning *planning)
{
    struct avoid *avoid = planning->avoid;
    struct output *out = &avoid->cli->out;
    const gordian_plan_answer *answer = &planning->answer;
    if (planning->units_known && answer->safe) {
        output_text(out, "Without avoidance they ");
        style_text(&avoid->style, out, COLOR_GOOD, "cannot deadlock");
        output_text(out, " either.\n");
    } else if (planning->units_known) {
        output_text(out, "Without avoidance they ");
        style_text(&avoid->style, out, COLOR_BAD, "can deadlock");
        output_text(out, ", for example like this:\n\n");
        const gordian_witness *witness = &planning->answer.witness;
        bool whole = planning->avoid->cli->verbose;
        size_t members = 0, shown = 0, next = 0;
        for (size_t i = 0; i < witness->count; i++)
            members += witness->edges[i].waits;
        for (; next < witness->count && (whole || members <= MEMBERS_MOST || shown < MEMBERS_MOST);
             shown++)
            next += write_member(planning, witness->edges + next, witness->count - next);
        if (shown < members)
            output_format(&planning->avoid->cli->out, "  and %zu more (--verbose shows all)\n",
                          members - shown);
        output_text(out, "\nThe cheapest fix without avoidance adds ");
        write_total(planning, answer->missing_units, answer->missing_cost);
        output_text(out, ".\n");
    }
    output_text(out, "The cheapest pools that cannot deadlock without avoidance have ");
    write_total(planning, answer->least_units, answer->least_cost);
    output_text(out, ".\n");
}

static void write_text(struct planning *planning)
{
    const struct style *style = &planning->avoid->style;
    struct output *out = &planning->avoid->cli->out;
    size_t width = strlen("resource");
    planning->column = column_width(planning);
    for (uint32_t j = 0; j < planning->answer.pool_count; j++) {
        size_t columns = style_width(style, gordian_plan_resource_name(planning->plan, j));
        width = columns > width ? columns : width;
    }
    style_color(style, out, COLOR_FAINT);
    output_format(out, "%-*s", (int)width, "resource");
    if (planning->units_known)
        write_cell(planning, "now");
    write_cell(planning, "claimed");
    write_cell(planning, "avoiding");
    write_cell(planning, "without");
    if (planning->units_known) {
        write_cell(planning, "to add");
        write_cell(planning, "slack");
    }
    style_color(style, out, COLOR_PLAIN);
    output_char(out, '\n');
    for (uint32_t j = 0; j < planning->answer.pool_count; j++)
        write_row(planning, j, width);
    if (planning->avoid->cli->quiet)
        return;
    output_char(&planning->avoid->cli->out, '\n');
    advise_on_avoidance(planning);
    advise_on_pools(planning);
}

/* ------------------------------------------------------------------ the command */

static int run_plan(struct planning *planning, int operands, char **argv)
{
    struct avoid *avoid = planning->avoid;
    int code = avoid->workers != AVOID_NO_WORKERS ? write_workers(planning, operands, argv)
                                                  : take_file(planning, operands ? argv[0] : NULL);
    THEN_CODE(code, solve_plan(planning));
    THEN_CODE(code, ask_bank(planning));
    if (code == EXIT_NOTHING && avoid->cli->json)
        write_json(planning);
    else if (code == EXIT_NOTHING)
        write_text(planning);
    TRY_CODE(code);
    return planning->units_known && !planning->answer.safe ? EXIT_FOUND : EXIT_NOTHING;
}

int avoid_plan(struct avoid *avoid, int operands, char **argv)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error error = {0};
    struct planning planning = {.avoid = avoid};
    if (!output_open(&planning.text, -1))
        return cli_fail(avoid->cli, NULL, (fail_memory(&error), &error));
    int code = run_plan(&planning, operands, argv);
    output_close(&planning.text);
    gordian_plan_close(planning.plan);
    memory_free(&memory, planning.slack);
    return code;
}
