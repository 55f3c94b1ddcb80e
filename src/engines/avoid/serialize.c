/*
 * Serializes a bank. All numbers are varints:
 *
 *     version
 *     resource limit, by id: 0 free | 1 name, total
 *     free ids: count, first to be used first
 *     process limit, by id: 0 free | 1 runs, 2 on trial, 3 waits; name; claims; wants of 2 and 3
 *     free ids: as above
 *     the queue: how often its head has been passed, count, processes in order
 *
 * Claims: count, then resource, claim, held of each, ascending by resource. Wants are the same
 * without held.
 */
#include "engines/avoid/serialize.h"

#include "engines/avoid/bank.h"
#include "foundation/base/error.h"

#define SERIALIZED_VERSION 1

enum { FREE, RUNS, ON_TRIAL, WAITS };

/* ---- saving */

static void save_bank_name(struct bytes *bytes, const char *name)
{
    bytes_text(bytes, name, strlen(name));
}

static void save_bank_resources(const struct ledger *ledger, struct bytes *bytes)
{
    bytes_u64(bytes, ledger->resource_limit);
    for (uint32_t j = 0; j < ledger->resource_limit; j++) {
        bytes_u64(bytes, ledger_is_resource(ledger, j) ? RUNS : FREE);
        if (!ledger_is_resource(ledger, j))
            continue;
        save_bank_name(bytes, names_text(&ledger->resource_names, j));
        bytes_u64(bytes, ledger->total[j]);
    }
    bytes_u64(bytes, ledger->resource_limit - ledger->resource_count);
    for (uint32_t j = ledger->free_resource; j != NONE; j = ledger->columns[j].next_free)
        bytes_u64(bytes, j);
}

static void save_process(const gordian_bank *bank, uint32_t process, struct bytes *bytes)
{
    const struct ledger_row *row = &bank->ledger.rows[process];
    const struct bank_process *record = &bank->processes[process];
    bytes_u64(bytes, record->waits ? WAITS : record->on_trial ? ON_TRIAL : RUNS);
    save_bank_name(bytes, names_text(&bank->ledger.process_names, process));
    bytes_u64(bytes, row->count);
    for (uint32_t k = 0; k < row->count; k++) {
        bytes_u64(bytes, row->claims[k].resource);
        bytes_u64(bytes, row->claims[k].need + row->claims[k].held);
        bytes_u64(bytes, row->claims[k].held);
    }
    if (!record->waits && !record->on_trial)
        return;
    bytes_u64(bytes, record->count);
    for (size_t i = 0; i < record->count; i++) {
        bytes_u64(bytes, record->wants[i].resource);
        bytes_u64(bytes, record->wants[i].units);
    }
}

static void save_bank_processes(const gordian_bank *bank, struct bytes *bytes)
{
    const struct ledger *ledger = &bank->ledger;
    bytes_u64(bytes, ledger->process_limit);
    for (uint32_t i = 0; i < ledger->process_limit; i++)
        if (ledger_is_process(ledger, i))
            save_process(bank, i, bytes);
        else
            bytes_u64(bytes, FREE);
    bytes_u64(bytes, ledger->process_limit - ledger->process_count);
    for (uint32_t i = ledger->free_process; i != NONE; i = ledger->rows[i].next_free)
        bytes_u64(bytes, i);
}

void bank_serialize(gordian_bank *bank, struct bytes *bytes)
{
    BANK_SCOPE(bank);
    bytes_u64(bytes, SERIALIZED_VERSION);
    save_bank_resources(&bank->ledger, bytes);
    save_bank_processes(bank, bytes);
    bytes_u64(bytes, bank->passed);
    bytes_u64(bytes, bank->waiting);
    for (uint32_t i = bank->head; i != NONE; i = bank->processes[i].next)
        bytes_u64(bytes, i);
}

/* ---- loading */

struct loading {
    gordian_bank *bank;
    struct ledger *ledger;
    struct bytes_in *in;
    gordian_error *error;
    uint8_t *state; /* by id of the kind being read: FREE, RUNS, ... */
    uint32_t *order;
    gordian_want *claims, *holds; /* of one process */
    size_t claim_room, hold_room, claim_count, hold_count;
};

static gordian_status fail_bank_state(const struct loading *loading, const char *what)
{
    return fail(loading->error, GORDIAN_STATUS_INPUT, "not a serialized bank: %s", what);
}

/* Reads a name that is not yet among `names`. It is not NUL-terminated. *length 0: no name. */
static const char *load_bank_name(struct bytes_in *in, const struct names *names, size_t *length)
{
    const char *why, *text = bytes_take_text(in, length);
    if (!in->bad && *length > 0 &&
        (!names_valid(text, *length, &why) || names_find(names, text, *length) != NONE))
        in->bad = true;
    return text;
}

static gordian_status load_bank_resource(struct loading *loading, uint32_t id)
{
    struct ledger *ledger = loading->ledger;
    size_t length = 0;
    uint64_t units = 0;
    const char *name = NULL;
    loading->state[id] = (uint8_t)bytes_take_upto(loading->in, RUNS);
    if (loading->state[id] != FREE) {
        name = load_bank_name(loading->in, &ledger->resource_names, &length);
        units = bytes_take_u64(loading->in);
    }
    if (loading->in->bad)
        return fail_bank_state(loading, "invalid resource");
    if (!ledger_reserve_resource(ledger, length))
        return fail_memory(loading->error);
    ledger_add_resource(ledger, name, length, units);
    return GORDIAN_OK;
}

/* Reads the claims of a process, and what it holds of them. */
static gordian_status take_claims(struct loading *loading)
{
    const struct ledger *ledger = loading->ledger;
    struct bytes_in *in = loading->in;
    size_t count = (size_t)bytes_take_count(in);
    loading->claim_count = loading->hold_count = 0;
    if (!memory_grow(&ledger->memory, &loading->claims, &loading->claim_room, count,
                     sizeof *loading->claims) ||
        !memory_grow(&ledger->memory, &loading->holds, &loading->hold_room, count,
                     sizeof *loading->holds))
        return fail_memory(loading->error);
    for (size_t k = 0; k < count && !in->bad; k++) {
        uint32_t resource = (uint32_t)bytes_take_upto(in, NONE - 1);
        uint64_t claim = bytes_take_u64(in), held = bytes_take_u64(in);
        if (!ledger_is_resource(ledger, resource) || claim == 0 ||
            claim > ledger->total[resource] || held > claim || held > ledger->free[resource] ||
            (k > 0 && resource <= loading->claims[k - 1].resource)) {
            in->bad = true;
            break;
        }
        loading->claims[loading->claim_count++] = (gordian_want){claim, resource};
        if (held > 0)
            loading->holds[loading->hold_count++] = (gordian_want){held, resource};
    }
    return in->bad ? fail_bank_state(loading, "invalid claim") : GORDIAN_OK;
}

/* Reads what a process waits for, within its need, or has on trial, within what it holds. */
static gordian_status load_process_wants(struct loading *loading, uint32_t process)
{
    gordian_bank *bank = loading->bank;
    struct bytes_in *in = loading->in;
    bool waits = loading->state[process] == WAITS;
    size_t count = (size_t)bytes_take_count(in);
    if (!memory_grow(&bank->ledger.memory, &bank->wants, &bank->want_room, count,
                     sizeof *bank->wants))
        return fail_memory(loading->error);
    bank->want_count = 0;
    for (size_t i = 0; i < count && !in->bad; i++) {
        uint32_t resource = (uint32_t)bytes_take_upto(in, NONE - 1);
        uint64_t units = bytes_take_u64(in);
        const struct ledger_claim *claim = ledger_find(&bank->ledger, process, resource);
        if (!claim || units == 0 || units > (waits ? claim->need : claim->held) ||
            (i > 0 && resource <= bank->wants[i - 1].resource))
            in->bad = true;
        bank->wants[bank->want_count++] = (gordian_want){units, resource};
    }
    if (in->bad || bank->want_count == 0)
        return fail_bank_state(loading, "invalid waiting request");
    if (!queue_reserve(bank, process))
        return fail_memory(loading->error);
    struct bank_process *record = &bank->processes[process];
    for (size_t i = 0; i < bank->want_count; i++)
        record->wants[i] = bank->wants[i];
    record->count = bank->want_count;
    record->on_trial = !waits;
    return GORDIAN_OK;
}

static gordian_status load_bank_process(struct loading *loading, uint32_t id)
{
    struct ledger *ledger = loading->ledger;
    gordian_bank *bank = loading->bank;
    size_t length = 0;
    const char *name = NULL;
    gordian_status status = GORDIAN_OK;
    loading->claim_count = loading->hold_count = 0;
    loading->state[id] = (uint8_t)bytes_take_upto(loading->in, WAITS);
    if (loading->state[id] != FREE) {
        name = load_bank_name(loading->in, &ledger->process_names, &length);
        status = take_claims(loading);
    }
    if (status == GORDIAN_OK && loading->in->bad)
        status = fail_bank_state(loading, "invalid process");
    if (status != GORDIAN_OK)
        return status;
    if (!ledger_reserve_process(ledger, length) ||
        !ledger_reserve_claims(ledger, id, loading->claims, loading->claim_count) ||
        !memory_grow_zeroed(&ledger->memory, &bank->processes, &bank->process_room, id + 1,
                            sizeof *bank->processes))
        return fail_memory(loading->error);
    ledger_add_process(ledger, name, length);
    ledger_set_claims(ledger, id, loading->claims, loading->claim_count);
    ledger_lend(ledger, id, loading->holds, loading->hold_count);
    return loading->state[id] >= ON_TRIAL ? load_process_wants(loading, id) : GORDIAN_OK;
}

/* Reads the free ids. The caller has created all ids below the limit. This removes the free ones
 * again. The id to be used first is removed last. */
static gordian_status load_free_ids(struct loading *loading, uint32_t limit,
                                    void (*removes)(struct ledger *, uint32_t))
{
    uint32_t expected = 0;
    for (uint32_t i = 0; i < limit; i++)
        expected += loading->state[i] == FREE;
    uint32_t count = (uint32_t)bytes_take_upto(loading->in, expected);
    for (uint32_t i = 0; i < count && !loading->in->bad; i++) {
        uint32_t id = (uint32_t)bytes_take_upto(loading->in, limit - 1);
        loading->in->bad |= loading->state[id] != FREE; /* in use, or named twice */
        loading->state[id] = RUNS;
        loading->order[i] = id;
    }
    if (loading->in->bad || count != expected)
        return fail_bank_state(loading, "invalid free ids");
    for (uint32_t i = count; i-- > 0;)
        removes(loading->ledger, loading->order[i]);
    return GORDIAN_OK;
}

static gordian_status load_all_ids(struct loading *loading,
                                   gordian_status (*load_one)(struct loading *, uint32_t),
                                   void (*removes)(struct ledger *, uint32_t))
{
    const gordian_allocator *memory = &loading->ledger->memory;
    uint64_t limit = bytes_take_count(loading->in);
    if (loading->in->bad || limit > LEDGER_ID_MAX)
        return fail_bank_state(loading, "invalid count");
    memory_free_all(memory, loading->state, loading->order);
    loading->state = memory_zeroed(memory, limit + 1);
    loading->order = memory_alloc(memory, (limit + 1) * sizeof *loading->order);
    if (!loading->state || !loading->order)
        return fail_memory(loading->error);
    for (uint32_t id = 0; id < limit; id++)
        TRY(load_one(loading, id));

    return load_free_ids(loading, (uint32_t)limit, removes);
}

static gordian_status load_queue(struct loading *loading)
{
    gordian_bank *bank = loading->bank;
    struct bytes_in *in = loading->in;
    uint32_t passed = (uint32_t)bytes_take_upto(in, bank->patience);
    uint64_t count = bytes_take_count(in);
    if (in->bad || (count > 0 && !bank->queue))
        return fail_bank_state(loading, "invalid queue");
    for (uint64_t i = 0; i < count; i++) {
        uint32_t process = (uint32_t)bytes_take_upto(in, NONE - 1);
        if (!ledger_is_process(loading->ledger, process) || loading->state[process] != WAITS ||
            bank->processes[process].waits)
            return fail_bank_state(loading, "invalid queue");
        /* The record has the wants already. */
        bank->want_count = 0;
        if (!queue_reserve(bank, process))
            return fail_memory(loading->error);
        size_t wants = bank->processes[process].count;
        queue_join(bank, process);
        bank->processes[process].count = wants;
        loading->state[process] = RUNS;
    }
    for (uint32_t i = 0; i < loading->ledger->process_limit; i++)
        if (ledger_is_process(loading->ledger, i) && loading->state[i] == WAITS)
            return fail_bank_state(loading, "a waiting process is not in the queue");
    bank->passed = passed;
    return GORDIAN_OK;
}

/* Opens the engine again on the present ledger. */
static gordian_status reopen_engine(gordian_bank *bank, gordian_error *error)
{
    const struct ledger *ledger = &bank->ledger;
    void *fresh = NULL;
    TRY(bank->engine->open(&fresh, ledger, error));
    bank->engine->close(bank->state);
    bank->state = fresh;
    if (!bank->engine->prepare)
        return GORDIAN_OK;
    return bank->engine->prepare(bank->state, ledger->process_limit, ledger->resource_limit,
                                 ledger->claim_count, error);
}

/* Reserves the memory outside the ledger, and checks that the state is safe: a bank always is. */
static gordian_status check_safe(struct loading *loading)
{
    gordian_bank *bank = loading->bank;
    const struct ledger *ledger = loading->ledger;
    if (!memory_grow_zeroed(&ledger->memory, &bank->processes, &bank->process_room,
                            ledger->process_limit, sizeof *bank->processes) ||
        !memory_grow_zeroed(&ledger->memory, &bank->sums, &bank->sum_room, ledger->resource_limit,
                            sizeof *bank->sums) ||
        !search_reserve(&bank->search, ledger->process_limit, ledger->resource_limit))
        return fail_memory(loading->error);
    search_forget_all(&bank->search);
    if (!search_run(&bank->search, NULL, NULL, 0))
        return fail_bank_state(loading, "the state is not safe");
    return GORDIAN_OK;
}

gordian_status bank_deserialize(gordian_bank *bank, struct bytes_in *in, gordian_error *error)
{
    struct loading loading = {.bank = bank, .ledger = &bank->ledger, .in = in, .error = error};
    const gordian_allocator *memory = &bank->ledger.memory;
    BANK_SCOPE(bank);
    gordian_status status = GORDIAN_OK;
    if (bytes_take_u64(in) != SERIALIZED_VERSION)
        status = fail_bank_state(&loading, "invalid header");
    THEN(status, load_all_ids(&loading, load_bank_resource, ledger_remove_resource));
    THEN(status, load_all_ids(&loading, load_bank_process, ledger_remove_process));
    THEN(status, check_safe(&loading));
    THEN(status, load_queue(&loading));
    THEN(status, reopen_engine(bank, error));
    memory_free_all(memory, loading.state, loading.order, loading.claims, loading.holds);
    return status;
}
