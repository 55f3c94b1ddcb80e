#include "world.h"

#include "engines/makespan/model/schedule.h"

#include <string.h>

struct makespan_model *make_model(const char *kernel, const char *units, uint32_t schedulers,
                                  uint32_t warps)
{
    gordian_unit list[26];
    gordian_makespan_problem problem = {.kernel = kernel,
                                        .length = strlen(kernel),
                                        .warps = warps,
                                        .schedulers = schedulers,
                                        .units = list};
    for (const char *at = units; *at; at += strcspn(at, ","), at += *at == ',')
        list[problem.unit_count++] =
            (gordian_unit){.letter = at[0], .units = (uint32_t)strtoul(at + 2, NULL, 10)};
    struct makespan_model *model = NULL;
    gordian_error error;
    REQUIRE(model_open(&model, &problem, NULL, &error) == GORDIAN_OK);
    return model;
}

struct makespan_model *random_model(struct random *random, uint32_t most_warps,
                                    uint32_t most_length)
{
    char kernel[65], units[64];
    uint32_t types = 1 + (uint32_t)random_below(random, 4), sum = 0;
    uint32_t length = 1 + (uint32_t)random_below(random, most_length < 64 ? most_length : 64);
    int at = 0;
    for (uint32_t i = 0; i < length; i++)
        kernel[i] = i > 0 && random_chance(random, 55) ? kernel[i - 1]
                                                       : "LCSD"[random_below(random, types)];
    kernel[length] = '\0';
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t number = 1 + (uint32_t)random_below(random, 3);
        at += snprintf(units + at, sizeof units - (size_t)at, "%s%c=%u", t ? "," : "", "LCSD"[t],
                       number);
        sum += number;
    }
    uint32_t schedulers = random_chance(random, 50) ? 1 + (uint32_t)random_below(random, sum) : 0;
    return make_model(kernel, units, schedulers, 1 + (uint32_t)random_below(random, most_warps));
}

uint64_t count_strings(const struct makespan_model *model)
{
    uint64_t count = 1;
    for (uint32_t w = 1; w < model->warps; w++) {
        for (uint32_t i = 1; i <= model->length; i++) {
            uint64_t factor = (uint64_t)w * model->length + i;
            if (count > UINT64_MAX / factor)
                return UINT64_MAX;
            count = count * factor / i;
        }
    }
    return count;
}

struct brute {
    const struct makespan_model *model;
    uint32_t used[256][MAKESPAN_TYPES], all[256];
    uint32_t done[16], ready[16];
    uint32_t worst, best;
};

static void next_entry(struct brute *brute, uint32_t entries, uint32_t end)
{
    const struct makespan_model *model = brute->model;
    if (entries == model->work) {
        brute->worst = end > brute->worst ? end : brute->worst;
        brute->best = end < brute->best ? end : brute->best;
        return;
    }
    for (uint32_t w = 0; w < model->warps; w++) {
        if (brute->done[w] == model->length)
            continue;
        uint32_t type = model->string[brute->done[w]], ready = brute->ready[w], cycle = ready;
        while (brute->used[cycle][type] == model->given[type] ||
               (model->schedulers && brute->all[cycle] == model->schedulers))
            cycle++;
        brute->used[cycle][type]++;
        brute->all[cycle]++;
        brute->done[w]++;
        brute->ready[w] = cycle + 1;
        next_entry(brute, entries + 1, cycle >= end ? cycle + 1 : end);
        brute->ready[w] = ready;
        brute->done[w]--;
        brute->all[cycle]--;
        brute->used[cycle][type]--;
    }
}

void brute_force(const struct makespan_model *model, uint32_t *worst, uint32_t *best)
{
    struct brute *brute = calloc(1, sizeof *brute);
    REQUIRE(brute && model->work <= 256 && model->warps <= 16);
    brute->model = model;
    brute->best = UINT32_MAX;
    next_entry(brute, 0, 0);
    *worst = brute->worst;
    *best = brute->best;
    free(brute);
}

/* ------------------------------------------------------------------ the file */

static void read_four(const char *text, uint32_t *numbers)
{
    char *end = (char *)(uintptr_t)text;
    for (unsigned i = 0; i < 4; i++, end += *end == ',')
        numbers[i] = (uint32_t)strtoul(end, &end, 10);
}

static size_t read_witness(const char *text, uint32_t *witness)
{
    size_t count = 0;
    char *end;
    for (const char *at = text; *at && *at != '-'; at = end) {
        unsigned long warp = strtoul(at, &end, 10);
        if (end == at)
            break;
        REQUIRE(count < 1024);
        witness[count++] = (uint32_t)warp;
    }
    return count;
}

static void read_row(char *line, struct row *row)
{
    char *fields[16] = {NULL};
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < 16; count++) {
        fields[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    REQUIRE(count == 16);
    memset(row, 0, sizeof *row);
    row->id = (unsigned)strtoul(fields[0], NULL, 10);
    snprintf(row->raw, sizeof row->raw, "%s", fields[1]);
    snprintf(row->string, sizeof row->string, "%s", fields[4]);
    read_four(fields[2], row->lanes);
    read_four(fields[3], row->latency);
    for (unsigned i = 0; i < 4; i++)
        row->units[i] = (uint32_t)strtoul(fields[5 + i], NULL, 10);
    row->sigma = (uint32_t)strtoul(fields[9], NULL, 10);
    row->sigma = row->sigma == 99 ? 0 : row->sigma;
    row->warps = (uint32_t)strtoul(fields[10], NULL, 10);
    row->worst = (uint32_t)strtoul(fields[11], NULL, 10);
    row->best = (uint32_t)strtoul(fields[12], NULL, 10);
    row->worst_count = read_witness(fields[13], row->worst_witness);
    row->best_count = read_witness(fields[14], row->best_witness);
}

struct row *read_rows(const char *path, size_t *count)
{
    static char line[16384];
    FILE *file = fopen(path, "r");
    if (!file)
        fprintf(stderr, "cannot open %s\n", path);
    REQUIRE(file != NULL);
    struct row *rows = calloc(200, sizeof *rows);
    REQUIRE(rows != NULL);
    *count = 0;
    REQUIRE(fgets(line, sizeof line, file) != NULL);
    while (fgets(line, sizeof line, file)) {
        REQUIRE(*count < 200);
        read_row(line, &rows[(*count)++]);
    }
    fclose(file);
    return rows;
}

gordian_makespan_problem row_problem(const struct row *row, gordian_unit units[4])
{
    for (unsigned i = 0; i < 4; i++) {
        units[i] =
            (gordian_unit){.letter = "LCSD"[i], .lanes = row->lanes[i], .latency = row->latency[i]};
        /* Row 67 and 69 give no lanes for L, which the string needs: one start a cycle. */
        if (units[i].lanes == 0)
            units[i].units = row->units[i];
    }
    return (gordian_makespan_problem){.kernel = row->raw,
                                      .length = strlen(row->raw),
                                      .warps = row->warps,
                                      .schedulers = row->sigma,
                                      .units = units,
                                      .unit_count = 4};
}

struct makespan_model *row_model(const struct row *row)
{
    gordian_unit units[4];
    gordian_makespan_problem problem = row_problem(row, units);
    struct makespan_model *model = NULL;
    gordian_error error;
    gordian_status status = model_open(&model, &problem, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK, "row %u: %s", row->id, error.message);
    REQUIRE(status == GORDIAN_OK);
    return model;
}
