/* Rows of a table, for one type of values: table.c includes this for each type, and defines VALUE,
 * VALUE_MOST and NAME(x). */

/* Places are addresses, counted in values: boxes may be in separate buffers. */
static VALUE *NAME(values_at)(uint64_t place)
{
    return (VALUE *)(uintptr_t)(place * sizeof(VALUE));
}

static void NAME(row_max)(VALUE *restrict row, const VALUE *restrict from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        row[i] = from[i] > row[i] ? from[i] : row[i];
}

static void NAME(row_min)(VALUE *restrict row, const VALUE *restrict from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        row[i] = from[i] < row[i] ? from[i] : row[i];
}

/* Adds one cycle. */
static void NAME(row_next)(VALUE *row, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        row[i] = (VALUE)(row[i] + (row[i] < VALUE_MOST));
}

/* Applies a step within the row: each value may depend on an earlier one. */
static void NAME(row_self)(VALUE *row, uint32_t first, uint32_t last, uint32_t back, bool most)
{
    for (uint32_t i = first; i < last; i++) {
        VALUE value = (VALUE)(row[i - back] + (row[i - back] < VALUE_MOST));
        if (most ? value > row[i] : value < row[i])
            row[i] = value;
    }
}

/* Computes the row of the box with the outer works `work`, at place `at`. */
static void NAME(compute_row)(const struct filling *filling, uint64_t at, const uint32_t *work)
{
    uint32_t inner = filling->pools - 1, extent = filling->extent[inner];
    bool most = filling->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    VALUE *row = NAME(values_at)(at);
    memset(row, most ? 0 : 0xff, extent * sizeof *row);
    for (size_t m = filling->self_count; m < filling->move_count; m++) {
        const struct move *move = &filling->moves[m];
        uint64_t from = move->base;
        if (!outer_works_fit(filling, move, work, &from))
            continue;
        const VALUE *source = NAME(values_at)(from + move->first);
        if (most)
            NAME(row_max)(row + move->first, source, move->count);
        else
            NAME(row_min)(row + move->first, source, move->count);
    }
    NAME(row_next)(row, extent);
    for (size_t m = 0; m < filling->self_count; m++) {
        const struct move *move = &filling->moves[m];
        uint64_t from = move->base;
        if (!outer_works_fit(filling, move, work, &from))
            continue;
        uint32_t last = move->first + move->count;
        NAME(row_self)(row, move->first, last, (uint32_t)(at - from), most);
    }
}
