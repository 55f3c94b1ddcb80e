#include "avoid_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening */

bool world_open(struct world *world, const struct avoid_engine *tested, struct world_shape shape,
                uint64_t seed, const gordian_allocator *memory)
{
    *world = (struct world){
        .shape = shape, .memory = memory_allocator(memory), .engines = {&avoid_dense, tested}};
    gordian_error error = {0};
    random_seed(&world->random, seed);
    ledger_init(&world->ledger, &world->memory);
    /* The test's own memory does not fail. */
    world->wants = calloc(64 * (size_t)shape.resources + 64, sizeof *world->wants);
    world->sequence = calloc((size_t)shape.processes + 1, sizeof *world->sequence);
    world->work = calloc((size_t)shape.resources + 1, sizeof *world->work);
    for (size_t e = 0; e < 2; e++)
        if (world->engines[e]->open(&world->states[e], &world->ledger, &error)) {
            world_close(world);
            return false;
        }
    return true;
}

void world_close(struct world *world)
{
    for (size_t e = 0; e < 2; e++)
        if (world->states[e])
            world->engines[e]->close(world->states[e]);
    ledger_free(&world->ledger);
    free(world->wants);
    free(world->sequence);
    free(world->work);
}

static bool prepare(struct world *world, uint32_t process_limit, uint32_t resource_limit)
{
    gordian_error error = {0};
    for (size_t e = 0; e < 2; e++)
        if (world->engines[e]->prepare(world->states[e], process_limit, resource_limit, 0, &error))
            return false;
    return true;
}

/* ------------------------------------------------------------------ asking */

static void took(struct world *world, const struct ledger_change *change)
{
    struct ledger *ledger = &world->ledger;
    switch (change->kind) {
    case CHANGE_LEND:
        ledger_lend(ledger, change->process, change->wants, change->count);
        break;
    case CHANGE_CLAIMS:
        ledger_set_claims(ledger, change->process, change->wants, change->count);
        break;
    case CHANGE_TAKE:
        ledger_set_total(ledger, change->wants[0].resource,
                         ledger->total[change->wants[0].resource] - change->wants[0].units);
        break;
    }
    for (size_t e = 0; e < 2; e++)
        world->engines[e]->took(world->states[e], change);
}

bool world_ask(struct world *world, const struct ledger_change *change, bool apply)
{
    if (change->kind == CHANGE_CLAIMS &&
        !ledger_reserve_claims(&world->ledger, change->process, change->wants, change->count))
        return false;
    bool expected = world->engines[0]->safe(world->states[0], change);
    if (world->watch)
        world->watch(world, change, expected);
    bool answer = world->engines[1]->safe(world->states[1], change);
    if (answer != expected) {
        fprintf(stderr, "kind %d, process %u: %d, the oracle says %d\n", change->kind,
                change->process, answer, expected);
        world->wrong++;
    }
    expected ? world->safe++ : world->unsafe++;
    if (expected && apply)
        took(world, change);
    return true;
}

/* ------------------------------------------------------------------ what may happen */

static uint32_t some_process(struct world *world)
{
    const struct ledger *ledger = &world->ledger;
    if (ledger->process_count == 0)
        return NONE;
    for (;;) {
        uint32_t process = (uint32_t)random_below(&world->random, ledger->process_limit);
        if (ledger_is_process(ledger, process))
            return process;
    }
}

static uint32_t some_resource(struct world *world)
{
    const struct ledger *ledger = &world->ledger;
    if (ledger->resource_count == 0)
        return NONE;
    for (;;) {
        uint32_t resource = (uint32_t)random_below(&world->random, ledger->resource_limit);
        if (ledger_is_resource(ledger, resource))
            return resource;
    }
}

/* From 0 to `most`, often one of the two, or close to them. */
static uint64_t some_units(struct world *world, uint64_t most)
{
    if (random_chance(&world->random, 20))
        return most;
    if (random_chance(&world->random, 30)) {
        uint64_t few = random_below(&world->random, 3);
        return few < most ? few : most;
    }
    return most == UINT64_MAX ? random_next(&world->random)
                              : random_below(&world->random, most + 1);
}

bool world_add_resource(struct world *world, uint64_t units)
{
    struct ledger *ledger = &world->ledger;
    uint32_t next = ledger_next_resource(ledger);
    uint32_t limit = next < ledger->resource_limit ? ledger->resource_limit : next + 1;
    if (!ledger_reserve(ledger, ledger->process_limit, limit) ||
        !ledger_reserve_resource(ledger, 0) || !prepare(world, ledger->process_limit, limit))
        return false;
    ledger_add_resource(ledger, NULL, 0, units);
    for (size_t e = 0; e < 2; e++)
        world->engines[e]->resized(world->states[e], next);
    return true;
}

bool world_add_process(struct world *world, const gordian_want *claims, size_t count)
{
    struct ledger *ledger = &world->ledger;
    uint32_t next = ledger_next_process(ledger);
    uint32_t limit = next < ledger->process_limit ? ledger->process_limit : next + 1;
    if (!ledger_reserve(ledger, limit, ledger->resource_limit) ||
        !ledger_reserve_process(ledger, 0) || !ledger_reserve_claims(ledger, next, claims, count) ||
        !prepare(world, limit, ledger->resource_limit))
        return false;
    ledger_add_process(ledger, NULL, 0);
    ledger_set_claims(ledger, next, claims, count);
    for (size_t e = 0; e < 2; e++)
        world->engines[e]->joined(world->states[e], next);
    return true;
}

/* Claims at random, each at least what is held (NONE: nothing). */
static size_t some_claims(struct world *world, uint32_t process)
{
    const struct ledger *ledger = &world->ledger;
    size_t count = 0;
    for (uint32_t j = 0; j < ledger->resource_limit; j++) {
        if (!ledger_is_resource(ledger, j))
            continue;
        const struct ledger_claim *old = process == NONE ? NULL : ledger_find(ledger, process, j);
        uint64_t least = old ? old->held : 0, units = least;
        if (random_chance(&world->random, world->shape.claimed))
            units = least + some_units(world, ledger->total[j] - least);
        if (units > 0)
            world->wants[count++] = (gordian_want){.resource = j, .units = units};
    }
    return count;
}

static bool join(struct world *world)
{
    if (world->ledger.process_count >= world->shape.processes)
        return true;
    size_t count = some_claims(world, NONE);
    return world_add_process(world, world->wants, count);
}

static void leave(struct world *world)
{
    uint32_t process = some_process(world);
    if (process == NONE)
        return;
    for (size_t e = 0; e < 2; e++)
        world->engines[e]->leaves(world->states[e], process);
    ledger_remove_process(&world->ledger, process);
}

static void give_back(struct world *world)
{
    uint32_t process = some_process(world);
    size_t count = 0;
    if (process == NONE)
        return;
    const struct ledger_row *row = &world->ledger.rows[process];
    for (uint32_t k = 0; k < row->count; k++) {
        uint64_t units = some_units(world, row->claims[k].held);
        if (units > 0 && random_chance(&world->random, 60))
            world->wants[count++] =
                (gordian_want){.resource = row->claims[k].resource, .units = units};
    }
    if (count == 0)
        return;
    ledger_return(&world->ledger, process, world->wants, count);
    for (size_t e = 0; e < 2; e++)
        if (world->engines[e]->returned)
            world->engines[e]->returned(world->states[e], process, world->wants, count);
}

static void resize(struct world *world)
{
    uint32_t resource = some_resource(world);
    struct ledger *ledger = &world->ledger;
    if (resource == NONE)
        return;
    if (random_chance(&world->random, 20) && ledger->columns[resource].count == 0) {
        ledger_remove_resource(ledger, resource);
    } else {
        uint64_t more = some_units(world, world->shape.units);
        if (more > UINT64_MAX - ledger->total[resource])
            return;
        ledger_set_total(ledger, resource, ledger->total[resource] + more);
    }
    for (size_t e = 0; e < 2; e++)
        world->engines[e]->resized(world->states[e], resource);
}

bool world_loan(struct world *world, struct ledger_change *change, size_t at)
{
    const struct ledger *ledger = &world->ledger;
    uint32_t process = some_process(world);
    gordian_want *wants = world->wants + at;
    size_t count = 0;
    if (process == NONE)
        return false;
    const struct ledger_row *row = &ledger->rows[process];
    bool all = random_chance(&world->random, 20);
    for (uint32_t k = 0; k < row->count; k++) {
        uint64_t most = row->claims[k].need, there = ledger->free[row->claims[k].resource];
        uint64_t units = some_units(world, most < there ? most : there);
        if (units > 0 && (all || random_chance(&world->random, 30)))
            wants[count++] = (gordian_want){.resource = row->claims[k].resource, .units = units};
    }
    *change = (struct ledger_change){
        .kind = CHANGE_LEND, .process = process, .wants = wants, .count = count};
    return count > 0;
}

static bool borrow(struct world *world)
{
    struct ledger_change change;
    return !world_loan(world, &change, 0) || world_ask(world, &change, true);
}

static bool change_claims(struct world *world)
{
    uint32_t process = some_process(world);
    if (process == NONE)
        return true;
    size_t count = some_claims(world, process);
    struct ledger_change change = {
        .kind = CHANGE_CLAIMS, .process = process, .wants = world->wants, .count = count};
    return world_ask(world, &change, true);
}

static bool take_out(struct world *world)
{
    const struct ledger *ledger = &world->ledger;
    uint32_t resource = some_resource(world);
    if (resource == NONE)
        return true;
    uint64_t most = ledger->total[resource] - ledger_largest_claim(ledger, resource);
    uint64_t there = ledger->free[resource];
    uint64_t units = some_units(world, most < there ? most : there);
    if (units == 0)
        return true;
    world->wants[0] = (gordian_want){.resource = resource, .units = units};
    struct ledger_change change = {
        .kind = CHANGE_TAKE, .process = NONE, .wants = world->wants, .count = 1};
    return world_ask(world, &change, true);
}

bool world_step(struct world *world)
{
    if (random_chance(&world->random, world->shape.tight))
        return borrow(world);
    switch (random_below(&world->random, 12)) {
    case 0:
        if (world->ledger.resource_count < world->shape.resources)
            return world_add_resource(world, 1 + some_units(world, world->shape.units - 1));
        return true;
    case 1:
    case 2:
        return join(world);
    case 3:
        return leave(world), true;
    case 4:
    case 5:
        return give_back(world), true;
    case 6:
        return resize(world), true;
    case 7:
        return change_claims(world);
    case 8:
        return take_out(world);
    default:
        return borrow(world);
    }
}

/* ------------------------------------------------------------------ checking */

bool world_order_is_good(struct world *world, const uint32_t *processes)
{
    const struct ledger *ledger = &world->ledger;
    bool *met = calloc((size_t)ledger->process_limit + 1, sizeof *met), good = true;
    for (uint32_t j = 0; j < ledger->resource_limit; j++)
        world->work[j] = ledger->free[j];
    for (uint32_t i = 0; i < ledger->process_count && good; i++) {
        uint32_t process = processes[i];
        if (!ledger_is_process(ledger, process) || met[process]) {
            good = false;
            break;
        }
        met[process] = true;
        const struct ledger_row *row = &ledger->rows[process];
        for (uint32_t k = 0; k < row->count; k++)
            good &= row->claims[k].need <= world->work[row->claims[k].resource];
        for (uint32_t k = 0; k < row->count; k++)
            world->work[row->claims[k].resource] += row->claims[k].held;
    }
    free(met);
    return good;
}
