/* The machine that warps run on: a preset, changed by options. */
#include "cli/makespan/makespan.h"
#include "foundation/base/io/reader.h"

#include <stdlib.h>
#include <string.h>

static gordian_unit *find_unit(struct makespan *makespan, char letter)
{
    for (size_t i = 0; i < makespan->unit_count; i++)
        if (makespan->unit_list[i].letter == letter)
            return &makespan->unit_list[i];
    makespan->unit_list[makespan->unit_count] = (gordian_unit){.letter = letter, .latency = 1};
    return &makespan->unit_list[makespan->unit_count++];
}

/* Parses "4", or with `ranges` "1..4". Returns NULL, or the error. */
static const char *read_range(const char *text, size_t length, bool ranges, uint32_t *low,
                              uint32_t *high)
{
    uint64_t values[2];
    const char *why = NULL;
    size_t first = 0;
    while (first + 1 < length && memcmp(text + first, "..", 2) != 0)
        first++;
    bool range = ranges && first + 2 < length;
    if (!parse_u64(text, range ? first : length, &values[0], &why) ||
        (range && !parse_u64(text + first + 2, length - first - 2, &values[1], &why)))
        return why;
    values[1] = range ? values[1] : values[0];
    if (values[0] > UINT32_MAX || values[1] > UINT32_MAX)
        return "is too large";
    if (values[1] < values[0])
        return "ends before it begins";
    *low = (uint32_t)values[0];
    *high = (uint32_t)values[1];
    return NULL;
}

/* Parses "L=1,C=4" for --units, --lanes or --latency; returns the exit code. */
static int read_list(struct makespan *makespan, const char *option, const char *text)
{
    const bool units = strcmp(option, "units") == 0, latency = strcmp(option, "latency") == 0;
    for (bool more = text != NULL; more;) {
        size_t length = strcspn(text, ",");
        uint32_t low = 0, high = 0;
        const char *why = "is not LETTER=N";
        if (length >= 3 && text[0] >= 'A' && text[0] <= 'Z' && text[1] == '=')
            why = read_range(text + 2, length - 2, latency, &low, &high);
        if (why)
            return cli_misuse(makespan->cli, "--%s: '%.*s' %s", option,
                              (int)(length < 40 ? length : 40), text, why);
        gordian_unit *unit = find_unit(makespan, text[0]);
        if (latency) {
            unit->latency = low;
            unit->latency_most = high == low ? 0 : high;
        } else {
            unit->units = units ? low : 0;
            unit->lanes = units ? 0 : low;
        }
        more = text[length] == ',';
        text += length + more;
    }
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ presets */

static int read_chip(struct makespan *makespan)
{
    gordian_chip chip;
    size_t i = 0;
    while (gordian_chip_info(i, &chip) == GORDIAN_OK && strcmp(chip.name, makespan->chip) != 0)
        i++;
    if (gordian_chip_info(i, &chip) != GORDIAN_OK) {
        const char *nearest = nearest_word(makespan->chip, makespan->chips);
        return cli_misuse(makespan->cli, "unknown chip '%.40s'%s%s%s (--chips lists them)",
                          makespan->chip, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?" : "");
    }
    makespan->chip_title = chip.title;
    makespan->scheduler_count = chip.schedulers;
    for (size_t u = 0; u < chip.unit_count; u++) {
        gordian_unit *unit = find_unit(makespan, chip.units[u].letter);
        *unit = chip.units[u];
        if (makespan->unpipelined)
            unit->latency = chip.latencies[u];
    }
    if (makespan->warps == 0)
        makespan->warps = chip.max_warps;
    return EXIT_NOTHING;
}

static void chip_json(struct output *out, const gordian_chip *chip)
{
    struct json json;
    json_begin(&json, out);
    json_key_text(&json, "chip", chip->name);
    json_key_text(&json, "title", chip->title);
    json_key_u64(&json, "schedulers", chip->schedulers);
    json_key_u64(&json, "max_warps", chip->max_warps);
    static const char *const keys[] = {"lanes", "busy", "latencies"};
    for (size_t k = 0; k < 3; k++) {
        json_open(&json, keys[k], '{');
        for (size_t u = 0; u < chip->unit_count; u++) {
            const gordian_unit *unit = &chip->units[u];
            const uint32_t numbers[] = {unit->lanes, unit->latency, chip->latencies[u]};
            json_name_u64(&json, (char[2]){unit->letter}, numbers[k]);
        }
        json_shut(&json);
    }
    json_key_text(&json, "source", chip->source);
    json_end(&json);
}

static void chip_text(struct output *out, const gordian_chip *chip)
{
    output_format(out, "%-8s  %s\n          %u schedulers, up to %u warps; lanes", chip->name,
                  chip->title, chip->schedulers, chip->max_warps);
    for (size_t u = 0; u < chip->unit_count; u++) {
        output_format(out, " %c=%u", chip->units[u].letter, chip->units[u].lanes);
        if (chip->units[u].latency > 1)
            output_format(out, " for %u cycles", chip->units[u].latency);
    }
    output_text(out, "; latency");
    for (size_t u = 0; u < chip->unit_count; u++)
        output_format(out, " %c=%u", chip->units[u].letter, chip->latencies[u]);
    output_format(out, "\n          %s\n", chip->source);
}

int makespan_list_chips(struct cli *cli)
{
    gordian_chip chip;
    for (size_t i = 0; gordian_chip_info(i, &chip) == GORDIAN_OK; i++)
        (cli->json ? chip_json : chip_text)(&cli->out, &chip);
    return EXIT_NOTHING;
}

/* ------------------------------------------------------------------ the rest */

static int read_schedulers(struct makespan *makespan)
{
    uint64_t count;
    const char *why = NULL;
    if (!makespan->schedulers)
        return EXIT_NOTHING;
    if (strcmp(makespan->schedulers, "none") == 0) {
        makespan->scheduler_count = 0;
        return EXIT_NOTHING;
    }
    if (!parse_u64(makespan->schedulers, strlen(makespan->schedulers), &count, &why) ||
        (count == 0 && (why = "is too small")) || (count > UINT32_MAX && (why = "is too large")))
        return cli_misuse(makespan->cli, "--schedulers: '%.40s' %s (a number, or none)",
                          makespan->schedulers, why);
    makespan->scheduler_count = (uint32_t)count;
    return EXIT_NOTHING;
}

static int read_clock(struct makespan *makespan)
{
    char *end;
    if (!makespan->clock)
        return EXIT_NOTHING;
    makespan->mhz = strtod(makespan->clock, &end);
    if (end == makespan->clock || *end || !(makespan->mhz > 0) || makespan->mhz > 1e6)
        return cli_misuse(makespan->cli, "--clock: '%.40s' is not a number of MHz",
                          makespan->clock);
    return EXIT_NOTHING;
}

int makespan_read_machine(struct makespan *makespan)
{
    int code = makespan->chip ? read_chip(makespan) : EXIT_NOTHING;
    if (code == EXIT_NOTHING && makespan->unpipelined && !makespan->chip)
        code = cli_misuse(makespan->cli, "--unpipelined needs --chip");
    THEN_CODE(code, read_list(makespan, "units", makespan->units));
    THEN_CODE(code, read_list(makespan, "lanes", makespan->lanes));
    THEN_CODE(code, read_list(makespan, "latency", makespan->latency));
    bool only_code = makespan->string || makespan->list_loops; /* they need no machine */
    if (code == EXIT_NOTHING && !makespan->chip && !makespan->units && !makespan->lanes &&
        !only_code)
        code = cli_misuse(makespan->cli, "the units are missing: give --units, --lanes or --chip");
    THEN_CODE(code, read_schedulers(makespan));
    THEN_CODE(code, read_clock(makespan));
    return code;
}

uint32_t makespan_units_of(const struct makespan *makespan, char letter, uint64_t *repeats)
{
    *repeats = 1;
    for (size_t i = 0; i < makespan->unit_count; i++)
        if (makespan->unit_list[i].letter == letter)
            return gordian_unit_starts(&makespan->unit_list[i], makespan->warp_size, repeats);
    return 0;
}

bool makespan_varies(const struct makespan *makespan)
{
    for (size_t i = 0; i < makespan->unit_count; i++)
        if (makespan->unit_list[i].latency_most > makespan->unit_list[i].latency)
            return true;
    return false;
}

int makespan_deal(struct makespan *makespan)
{
    gordian_makespan_dealing dealing = {makespan->blocks, makespan->multiprocessors,
                                        makespan->resident};
    gordian_error error = {0};
    uint32_t worst = 1, best = 1;
    makespan->best_warps = makespan->warps;
    if (makespan->blocks == 0 && makespan->resident == 0)
        return EXIT_NOTHING;
    if (makespan->own)
        return cli_misuse(makespan->cli, "--blocks and --resident do not work with --own");
    if (gordian_makespan_fullest(&dealing, GORDIAN_MAKESPAN_GOAL_WORST, &worst, &error) !=
            GORDIAN_OK ||
        gordian_makespan_fullest(&dealing, GORDIAN_MAKESPAN_GOAL_BEST, &best, &error) != GORDIAN_OK)
        return cli_misuse(makespan->cli, "--blocks: %s", error.message);
    uint32_t most = worst > best ? worst : best;
    if (makespan->warps > GORDIAN_MAKESPAN_MAX_WARPS / most)
        return cli_misuse(
            makespan->cli,
            "--blocks: %u blocks of %u warps on one multiprocessor are more than %d warps", most,
            makespan->warps, GORDIAN_MAKESPAN_MAX_WARPS);
    makespan->block_warps = makespan->warps;
    makespan->fullest = makespan->best ? best : worst;
    makespan->best_warps = makespan->block_warps * best;
    makespan->warps = makespan->block_warps * makespan->fullest;
    return EXIT_NOTHING;
}
