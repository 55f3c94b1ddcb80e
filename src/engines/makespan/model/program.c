/* Writes the makespan as an integer linear program in LP format (program.h). */
#include "engines/makespan/model/program.h"

#include "engines/makespan/model/schedule.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

/* Terms per line: some readers accept only about 500 characters. */
#define TERMS 12u

struct program {
    const struct makespan_model *model;
    struct output *out;
    uint32_t horizon; /* T */
    uint64_t rows;
    /* The current row. */
    uint32_t terms;
    int64_t known; /* sum of the fixed y on its left side */
};

/* ------------------------------------------------------------------ rows */

static void begin_row(struct program *program)
{
    output_format(program->out, " r%llu:", (unsigned long long)++program->rows);
    program->terms = 0;
    program->known = 0;
}

static void space_term(struct program *program)
{
    if (program->terms++ % TERMS == 0 && program->terms > 1)
        output_text(program->out, "\n  ");
}

/* The value of y_w_i_t, for any warp. Warps, instructions and cycles count from 1. Every warp has
 * run instruction 0. */
enum known { KNOWN_NO, KNOWN_YES, KNOWN_OPEN };

static enum known what_is(const struct program *program, uint32_t i, uint32_t t)
{
    if (i == 0 || t >= program->horizon - (program->model->length - i))
        return KNOWN_YES;
    return t >= i ? KNOWN_OPEN : KNOWN_NO;
}

static void add_y(struct program *program, int sign, uint32_t warp, uint32_t i, uint32_t t)
{
    enum known known = what_is(program, i, t);
    program->known += known == KNOWN_YES ? sign : 0;
    if (known != KNOWN_OPEN)
        return;
    space_term(program);
    output_format(program->out, " %c y%u_%u_%u", sign < 0 ? '-' : '+', warp, i, t);
}

static void add_full(struct program *program, int64_t factor, uint32_t type, uint32_t t)
{
    space_term(program);
    output_format(program->out, " %c %lld f%c_%u", factor < 0 ? '-' : '+',
                  (long long)(factor < 0 ? -factor : factor), program->model->letters[type], t);
}

static void add_busy(struct program *program, int64_t factor, uint32_t t)
{
    space_term(program);
    output_format(program->out, " %c %lld b_%u", factor < 0 ? '-' : '+',
                  (long long)(factor < 0 ? -factor : factor), t);
}

static void end_row(struct program *program, const char *relation, int64_t value)
{
    output_format(program->out, " %s %lld\n", relation, (long long)(value - program->known));
}

/* ------------------------------------------------------------------ definition of a schedule */

/* Writes that one y is at least another, unless that is always true. */
static void not_behind(struct program *program, uint32_t warp, uint32_t i, uint32_t t,
                       uint32_t other, uint32_t j, uint32_t s)
{
    if (what_is(program, i, t) == KNOWN_YES || what_is(program, j, s) == KNOWN_NO)
        return;
    begin_row(program);
    add_y(program, 1, warp, i, t);
    add_y(program, -1, other, j, s);
    end_row(program, ">=", 0);
}

static void write_order_rows(struct program *program)
{
    const struct makespan_model *model = program->model;
    output_text(program->out, "\\ Instructions stay run, in order; no warp passes another.\n");
    for (uint32_t w = 1; w <= model->warps; w++) {
        for (uint32_t i = 1; i <= model->length; i++) {
            for (uint32_t t = i; t <= program->horizon; t++) {
                not_behind(program, w, i, t, w, i, t - 1);
                not_behind(program, w, i - 1, t - 1, w, i, t);
                if (w < model->warps)
                    not_behind(program, w, i, t, w + 1, i, t);
            }
        }
    }
}

/* Adds the instructions that start in cycle t, of one type or (model->types) of all types. */
static void add_starts(struct program *program, uint32_t type, uint32_t t)
{
    const struct makespan_model *model = program->model;
    for (uint32_t w = 1; w <= model->warps; w++) {
        for (uint32_t i = 1; i <= model->length; i++) {
            if (type < model->types && model->string[i - 1] != type)
                continue;
            add_y(program, 1, w, i, t);
            add_y(program, -1, w, i, t - 1);
        }
    }
}

/* Returns whether there is a variable among these. */
static bool has_starts(const struct program *program, uint32_t type, uint32_t t)
{
    const struct makespan_model *model = program->model;
    for (uint32_t i = 1; i <= model->length; i++)
        if ((type == model->types || model->string[i - 1] == type) &&
            (what_is(program, i, t) == KNOWN_OPEN || what_is(program, i, t - 1) == KNOWN_OPEN))
            return true;
    return false;
}

static void write_capacities(struct program *program)
{
    const struct makespan_model *model = program->model;
    output_text(program->out, "\\ Capacities of units and schedulers; all in use where full.\n");
    for (uint32_t t = 1; t <= program->horizon; t++) {
        for (uint32_t type = 0; type <= model->types; type++) {
            bool all = type == model->types;
            uint32_t most = all ? model->sigma : model->units[type];
            if (all && !model->bounded)
                continue;
            if (has_starts(program, type, t)) {
                begin_row(program);
                add_starts(program, type, t);
                end_row(program, "<=", most);
            }
            begin_row(program);
            add_starts(program, type, t);
            if (all)
                add_busy(program, -(int64_t)most, t);
            else
                add_full(program, -(int64_t)most, type, t);
            end_row(program, ">=", 0);
        }
    }
}

/* If a warp waits in cycle t although its next instruction is ready, all units or schedulers are in
 * use. */
static void write_conserving(struct program *program)
{
    const struct makespan_model *model = program->model;
    output_text(program->out, "\\ Work-conserving: a warp that could run does.\n");
    for (uint32_t w = 1; w <= model->warps; w++) {
        for (uint32_t i = 1; i <= model->length; i++) {
            for (uint32_t t = i; t <= program->horizon; t++) {
                if (what_is(program, i - 1, t - 1) == KNOWN_NO ||
                    what_is(program, i, t) == KNOWN_YES)
                    continue;
                begin_row(program);
                add_y(program, 1, w, i - 1, t - 1);
                add_y(program, -1, w, i, t);
                add_full(program, -1, model->string[i - 1], t);
                if (model->bounded)
                    add_busy(program, -1, t);
                end_row(program, "<=", 0);
            }
        }
    }
}

/* The last warp ends in cycle makespan: it is done at the end of that cycle and of all later
 * ones. */
static void write_makespan_row(struct program *program)
{
    const struct makespan_model *model = program->model;
    begin_row(program);
    space_term(program);
    output_text(program->out, " makespan");
    for (uint32_t t = 1; t < program->horizon; t++)
        add_y(program, 1, model->warps, model->length, t);
    end_row(program, "=", program->horizon);
}

static void write_binaries(struct program *program)
{
    const struct makespan_model *model = program->model;
    output_text(program->out, "Binary\n");
    for (uint32_t w = 1; w <= model->warps; w++) {
        for (uint32_t i = 1; i <= model->length; i++) {
            for (uint32_t t = i; what_is(program, i, t) == KNOWN_OPEN; t++)
                output_format(program->out, " y%u_%u_%u\n", w, i, t);
        }
    }
    for (uint32_t t = 1; t <= program->horizon; t++) {
        for (uint32_t type = 0; type < model->types; type++)
            output_format(program->out, " f%c_%u\n", model->letters[type], t);
        if (model->bounded)
            output_format(program->out, " b_%u\n", t);
    }
}

/* ------------------------------------------------------------------ the whole run */

/* The worst case ends within the bound in closed form, and the best case within any schedule. */
static gordian_status find_horizon(struct program *program, gordian_makespan_goal goal,
                                   gordian_error *error)
{
    const struct makespan_model *model = program->model;
    program->horizon = model_upper_bound(model);
    if (goal == GORDIAN_MAKESPAN_GOAL_WORST)
        return GORDIAN_OK;
    uint8_t *order = memory_alloc(&model->memory, model->work);
    gordian_status status = GORDIAN_STATUS_MEMORY;
    if (order) {
        order_fill(model, ORDER_ROUND_ROBIN, NULL, order);
        status = schedule_build(model, order, NULL, &program->horizon);
    }
    memory_free(&model->memory, order);
    return status == GORDIAN_OK ? GORDIAN_OK : fail_memory(error);
}

static void write_objective(struct program *program, gordian_makespan_goal goal)
{
    const struct makespan_model *model = program->model;
    bool worst = goal == GORDIAN_MAKESPAN_GOAL_WORST;
    output_format(program->out,
                  "\\ The %s work-conserving schedule of %u warps, %u instructions each.\n"
                  "\\ y1_2_3: warp 1 has run instruction 2 by the end of cycle 3.\n"
                  "\\ fL_3, b_3: in cycle 3 all units L are in use, all schedulers are busy.\n"
                  "%s\n obj: makespan\nSubject To\n",
                  worst ? "longest" : "shortest", model->warps, model->length,
                  worst ? "Maximize" : "Minimize");
}

gordian_status program_write(const struct makespan_model *model, gordian_makespan_goal goal,
                             struct output *out, gordian_error *error)
{
    struct program program = {.model = model, .out = out};
    TRY(find_horizon(&program, goal, error));
    uint64_t variables = (uint64_t)model->work * (program.horizon - model->length);
    if (variables > PROGRAM_MOST)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the integer program would have %llu variables, more than %llu",
                    (unsigned long long)variables, (unsigned long long)PROGRAM_MOST);
    write_objective(&program, goal);
    write_makespan_row(&program);
    write_order_rows(&program);
    write_capacities(&program);
    write_conserving(&program);
    write_binaries(&program);
    output_text(out, "End\n");
    return GORDIAN_OK;
}
