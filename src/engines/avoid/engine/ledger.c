/* The ledger: claims, holdings and free units (ledger.h). */
#include "engines/avoid/engine/ledger.h"

#include <string.h>

void ledger_init(struct ledger *ledger, const gordian_allocator *memory)
{
    *ledger = (struct ledger){.memory = *memory, .free_process = NONE, .free_resource = NONE};
    names_init(&ledger->process_names, memory);
    names_init(&ledger->resource_names, memory);
}

void ledger_free(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->process_room; i++)
        memory_free_all(&ledger->memory, ledger->rows[i].claims, ledger->rows[i].units);
    for (uint32_t j = 0; j < ledger->resource_room; j++)
        memory_free(&ledger->memory, ledger->columns[j].claimants);
    memory_free_all(&ledger->memory, ledger->rows, ledger->columns, ledger->total, ledger->free);
    names_free(&ledger->process_names);
    names_free(&ledger->resource_names);
}

/* ---- memory */

/* Ids above a limit have an empty row or column, so that memory can be reserved for it in advance.
 */
static bool grow_rows(struct ledger *ledger, uint32_t limit)
{
    const struct memory_column rows = {&ledger->rows, sizeof *ledger->rows, .zeroed = true};
    return memory_grow_columns(&ledger->memory, &rows, 1, &ledger->process_room, limit);
}

static bool grow_columns(struct ledger *ledger, uint32_t limit)
{
    const struct memory_column columns[] = {
        {&ledger->total, sizeof *ledger->total},
        {&ledger->free, sizeof *ledger->free},
        {&ledger->columns, sizeof *ledger->columns, .zeroed = true}};
    return memory_grow_columns(&ledger->memory, columns, sizeof columns / sizeof *columns,
                               &ledger->resource_room, limit);
}

bool ledger_reserve(struct ledger *ledger, uint32_t process_limit, uint32_t resource_limit)
{
    return grow_rows(ledger, process_limit) && grow_columns(ledger, resource_limit) &&
           names_reserve(&ledger->process_names, process_limit, 0) &&
           names_reserve(&ledger->resource_names, resource_limit, 0);
}

uint32_t ledger_next_process(const struct ledger *ledger)
{
    return ledger->free_process == NONE ? ledger->process_limit : ledger->free_process;
}

uint32_t ledger_next_resource(const struct ledger *ledger)
{
    return ledger->free_resource == NONE ? ledger->resource_limit : ledger->free_resource;
}

bool ledger_reserve_resource(struct ledger *ledger, size_t name_length)
{
    uint32_t next = ledger_next_resource(ledger);
    return grow_columns(ledger, next + 1) &&
           (name_length == 0 || names_reserve(&ledger->resource_names, next + 1, name_length));
}

bool ledger_reserve_process(struct ledger *ledger, size_t name_length)
{
    uint32_t next = ledger_next_process(ledger);
    return grow_rows(ledger, next + 1) &&
           (name_length == 0 || names_reserve(&ledger->process_names, next + 1, name_length));
}

static bool is_gapless(const gordian_want *claims, size_t count)
{
    return count >= LEDGER_GAPLESS_MIN &&
           claims[count - 1].resource - claims[0].resource == count - 1;
}

bool ledger_reserve_claims(struct ledger *ledger, uint32_t process, const gordian_want *claims,
                           size_t count)
{
    struct ledger_row *row = &ledger->rows[process];
    if (count > UINT32_MAX || !memory_grow32(&ledger->memory, &row->claims, &row->room,
                                             (uint32_t)count, sizeof *row->claims))
        return false;
    if (is_gapless(claims, count) &&
        !memory_grow(&ledger->memory, &row->units, &row->unit_room, 2 * count, sizeof *row->units))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct ledger_column *column = &ledger->columns[claims[i].resource];
        /* One new claimant at most: a process that has a claim already keeps its entry. */
        if (!memory_grow32(&ledger->memory, &column->claimants, &column->room, column->count + 1,
                           sizeof *column->claimants))
            return false;
    }
    return true;
}

/* ---- adding and removing */

uint32_t ledger_add_resource(struct ledger *ledger, const char *name, size_t length, uint64_t units)
{
    uint32_t id = ledger_next_resource(ledger);
    struct ledger_column *column = &ledger->columns[id];
    if (id == ledger->resource_limit)
        ledger->resource_limit++;
    else
        ledger->free_resource = column->next_free;
    column->count = 0;
    column->next_free = LEDGER_IN_USE;
    ledger->total[id] = ledger->free[id] = units;
    ledger->resource_count++;
    if (length > 0)
        names_put(&ledger->resource_names, id, name, length);
    return id;
}

void ledger_remove_resource(struct ledger *ledger, uint32_t resource)
{
    struct ledger_column *column = &ledger->columns[resource];
    memory_free(&ledger->memory, column->claimants);
    *column = (struct ledger_column){.next_free = ledger->free_resource};
    ledger->free_resource = resource;
    ledger->total[resource] = ledger->free[resource] = 0;
    ledger->resource_count--;
    names_drop(&ledger->resource_names, resource);
}

uint32_t ledger_add_process(struct ledger *ledger, const char *name, size_t length)
{
    uint32_t id = ledger_next_process(ledger);
    struct ledger_row *row = &ledger->rows[id];
    if (id == ledger->process_limit)
        ledger->process_limit++;
    else
        ledger->free_process = row->next_free;
    row->count = row->holding = 0;
    row->gapless = false;
    row->next_free = LEDGER_IN_USE;
    ledger->process_count++;
    if (length > 0)
        names_put(&ledger->process_names, id, name, length);
    return id;
}

/* Removes an entry from a column; the last one moves to its place. */
static void leave_column(struct ledger *ledger, uint32_t resource, uint32_t place)
{
    struct ledger_column *column = &ledger->columns[resource];
    struct ledger_claimant last = column->claimants[--column->count];
    column->claimants[place] = last;
    if (place < column->count)
        ledger->rows[last.process].claims[last.place].place = place;
}

void ledger_remove_process(struct ledger *ledger, uint32_t process)
{
    struct ledger_row *row = &ledger->rows[process];
    for (uint32_t k = 0; k < row->count; k++) {
        ledger->free[row->claims[k].resource] += row->claims[k].held;
        leave_column(ledger, row->claims[k].resource, row->claims[k].place);
    }
    ledger->claim_count -= row->count;
    memory_free_all(&ledger->memory, row->claims, row->units);
    *row = (struct ledger_row){.next_free = ledger->free_process};
    ledger->free_process = process;
    ledger->process_count--;
    names_drop(&ledger->process_names, process);
}

/* ---- numbers */

/* Copies a claim of the row to the other places that store it. */
static void copy_claim(struct ledger *ledger, uint32_t process, uint32_t k)
{
    const struct ledger_row *row = &ledger->rows[process];
    const struct ledger_claim *claim = &row->claims[k];
    if (row->gapless) {
        row->units[k] = claim->need;
        row->units[row->count + k] = claim->held;
    }
    ledger->columns[claim->resource].claimants[claim->place] =
        (struct ledger_claimant){claim->need, claim->held, process, k};
}

void ledger_set_claims(struct ledger *ledger, uint32_t process, const gordian_want *claims,
                       size_t count)
{
    struct ledger_row *row = &ledger->rows[process];
    uint32_t before = row->count;
    /* Drop the claims that are not among the new ones, and close the gaps. */
    uint32_t kept = 0;
    size_t i = 0;
    for (uint32_t k = 0; k < row->count; k++) {
        uint32_t resource = row->claims[k].resource;
        while (i < count && claims[i].resource < resource)
            i++;
        if (i < count && claims[i].resource == resource)
            row->claims[kept++] = row->claims[k];
        else
            leave_column(ledger, resource, row->claims[k].place);
        /* The twin's place in the row is corrected at the end; leave_column of another resource
         * does not use it. */
    }
    row->count = kept;
    /* The remaining claims are a subset of the new list. Moving from the end overwrites no claim
     * that still has to move. */
    uint32_t old = row->count;
    for (uint32_t k = (uint32_t)count; k-- > 0;) {
        uint32_t resource = claims[k].resource;
        if (old > 0 && row->claims[old - 1].resource == resource) {
            struct ledger_claim claim = row->claims[--old];
            claim.need = claims[k].units - claim.held;
            row->claims[k] = claim;
        } else {
            struct ledger_column *column = &ledger->columns[resource];
            row->claims[k] = (struct ledger_claim){claims[k].units, 0, resource, column->count++};
        }
    }
    row->count = (uint32_t)count;
    row->gapless = is_gapless(claims, count);
    row->first = row->gapless ? claims[0].resource : NONE;
    for (uint32_t k = 0; k < row->count; k++)
        copy_claim(ledger, process, k);
    ledger->claim_count += row->count;
    ledger->claim_count -= before;
}

void ledger_set_total(struct ledger *ledger, uint32_t resource, uint64_t units)
{
    ledger->free[resource] += units - ledger->total[resource]; /* modulo 2^64 if fewer: exact */
    ledger->total[resource] = units;
}

struct ledger_claim *ledger_find(const struct ledger *ledger, uint32_t process, uint32_t resource)
{
    const struct ledger_row *row = &ledger->rows[process];
    uint32_t low = 0, high = row->count;
    /* A process that claims every resource has the claim at the index of its number. */
    if (resource < high && row->claims[resource].resource == resource)
        return &row->claims[resource];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row->claims[middle].resource < resource)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->count && row->claims[low].resource == resource ? &row->claims[low] : NULL;
}

void ledger_lend(struct ledger *ledger, uint32_t process, const gordian_want *wants, size_t count)
{
    struct ledger_row *row = &ledger->rows[process];
    for (size_t i = 0; i < count; i++) {
        struct ledger_claim *claim = ledger_find(ledger, process, wants[i].resource);
        row->holding += claim->held == 0;
        claim->need -= wants[i].units;
        claim->held += wants[i].units;
        ledger->free[wants[i].resource] -= wants[i].units;
        copy_claim(ledger, process, (uint32_t)(claim - row->claims));
    }
}

void ledger_return(struct ledger *ledger, uint32_t process, const gordian_want *wants, size_t count)
{
    struct ledger_row *row = &ledger->rows[process];
    for (size_t i = 0; i < count; i++) {
        struct ledger_claim *claim = ledger_find(ledger, process, wants[i].resource);
        claim->need += wants[i].units;
        claim->held -= wants[i].units;
        row->holding -= claim->held == 0;
        ledger->free[wants[i].resource] += wants[i].units;
        copy_claim(ledger, process, (uint32_t)(claim - row->claims));
    }
}

uint64_t ledger_largest_claim(const struct ledger *ledger, uint32_t resource)
{
    const struct ledger_column *column = &ledger->columns[resource];
    uint64_t largest = 0;
    for (uint32_t k = 0; k < column->count; k++) {
        uint64_t claim = column->claimants[k].need + column->claimants[k].held;
        largest = claim > largest ? claim : largest;
    }
    return largest;
}
