/* Finds reachable states in words of 64 neighbours, in hash tables
 * (engines/compose/explore/cells.h). Every thread owns a part of the words and has a table for
 * them. It sends the states that it finds for other threads as messages of some hundred pairs,
 * pushed onto a list: the mailbox of the owner. A thread waits only if it has no work. `open`
 * counts the working threads and the unread messages. A message is counted before it is posted,
 * until its contents have been entered by a thread that is counted as well. So when `open` is 0, no
 * thread has work, and none will get any. */
#include "engines/compose/explore/cells.h"
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <sched.h>
#include <string.h>

#define FIRINGS_MOST 1024u /* for each word all firings are tried in sequence */
#define LETTER       510u  /* pairs: two pages with the header */
#define CELLS        64u   /* fired between checks of the mailbox */
#define SPINS        32u   /* checks of the mailbox before the thread yields */
#define LINE         128u  /* bytes of two adjacent cache lines */

struct message {
    struct message *next;
    uint64_t count;
    struct cell_pair pairs[LETTER];
};

/* The shard of a thread. */
struct word_shard {
    struct word_shards *shards;
    unsigned number;
    struct cells cells;
    struct cells_box *boxes;             /* by owner: pairs to send, stored ... */
    struct message **messages;           /* ... in these messages */
    struct message *spare;               /* messages that have been read */
    uint64_t reported, reported_waiting; /* the values reported to other threads */
    uint64_t posted, idle_ns;
    char apart[LINE];
    union {
        struct message *_Atomic mailbox;
        char line[LINE]; /* a cache line of its own */
    };
};

struct word_shards {
    struct cpu *cpu;
    struct cells_rules rules;
    struct word_shard *list;
    unsigned count;
    bool no_bitmap; /* there was no memory for a bitmap */
    _Atomic bool to_bitmap;
    char apart[LINE];
    _Atomic uint64_t open;
};

/* ------------------------------------------------------------------ messages */

static struct message *take_free_message(struct word_shard *shard)
{
    struct message *message = shard->spare;
    if (message)
        shard->spare = message->next;
    else
        message = memory_alloc(&shard->shards->cpu->meter.memory, sizeof *message);
    return message;
}

static void post_message(struct word_shard *shard, unsigned owner)
{
    struct word_shards *shards = shard->shards;
    struct message *message = shard->messages[owner], *blank = take_free_message(shard);
    struct message *_Atomic *mailbox = &shards->list[owner].mailbox;
    struct cells_box *box = &shard->boxes[owner];
    if (!blank) { /* its contents are lost, and all threads will stop */
        shard->cells.no_memory = true;
        box->count = 0;
        return;
    }
    message->count = box->count;
    shard->posted += message->count;
    shard->messages[owner] = blank;
    *box = (struct cells_box){.pairs = blank->pairs, .room = LETTER};
    atomic_fetch_add(&shards->open, 1);
    message->next = atomic_load_explicit(mailbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(mailbox, &message->next, message,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

static void hand_box_on(void *context, uint32_t owner)
{
    struct word_shard *shard = context;
    struct cells_box *box = &shard->boxes[owner];
    if (owner != shard->number) {
        post_message(shard, owner);
        return;
    }
    uint32_t count = box->count;
    box->count = 0;
    cells_enter(&shard->cells, box->pairs, count);
}

/* Reads the mailbox. Returns true if there were messages. */
static bool read_mailbox(struct word_shard *shard)
{
    if (!atomic_load_explicit(&shard->mailbox, memory_order_relaxed))
        return false;
    struct message *message = atomic_exchange_explicit(&shard->mailbox, NULL, memory_order_acquire);
    uint64_t read = 0;
    for (struct message *next; message; message = next, read++) {
        next = message->next;
        cells_enter(&shard->cells, message->pairs, message->count);
        message->next = shard->spare;
        shard->spare = message;
    }
    atomic_fetch_sub(&shard->shards->open, read);
    return true;
}

/* ------------------------------------------------------------------ work */

static bool must_stop(struct word_shards *shards)
{
    return cpu_halted(shards->cpu) ||
           atomic_load_explicit(&shards->to_bitmap, memory_order_relaxed);
}

/* Publishes the counters of the thread, and decides whether to switch to a bitmap. */
static void update_totals(struct word_shard *shard)
{
    struct word_shards *shards = shard->shards;
    struct cpu *cpu = shards->cpu;
    struct cells *cells = &shard->cells;
    uint64_t waiting = cells_left(cells);
    if (!cells->admit && cells->states != shard->reported)
        atomic_fetch_add_explicit(&cpu->states, cells->states - shard->reported,
                                  memory_order_relaxed);
    atomic_fetch_add_explicit(&cpu->waiting, waiting - shard->reported_waiting,
                              memory_order_relaxed);
    shard->reported = cells->states;
    shard->reported_waiting = waiting;
    if (cells->no_memory)
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
    /* A bitmap with one state per word is as small as a table of states, and faster. */
    if (cpu->grid.words && !shards->no_bitmap &&
        (!cpu->options->max_states || cpu->options->full) &&
        atomic_load_explicit(&cpu->states, memory_order_relaxed) >= cpu->grid.words)
        atomic_store_explicit(&shards->to_bitmap, true, memory_order_relaxed);
}

/* Waits for messages. Returns false if the search is over. */
static bool wait_for_pairs(struct word_shard *shard)
{
    uint64_t start = clock_ns();
    struct word_shards *shards = shard->shards;
    atomic_fetch_sub(&shards->open, 1);
    for (unsigned looks = 1;; looks++) {
        if (atomic_load_explicit(&shard->mailbox, memory_order_relaxed)) {
            atomic_fetch_add(&shards->open, 1);
            shard->idle_ns += clock_ns() - start;
            return true;
        }
        if (atomic_load(&shards->open) == 0 || must_stop(shards))
            break;
        if (looks % SPINS == 0)
            sched_yield();
    }
    shard->idle_ns += clock_ns() - start;
    return false;
}

static void explore_cells(void *context, unsigned member)
{
    struct word_shards *shards = context;
    struct word_shard *shard = &shards->list[member];
    while (!must_stop(shards)) {
        bool mail = read_mailbox(shard), work = cells_waiting(&shard->cells);
        if (work)
            cells_fire(&shard->cells, &shards->rules, CELLS, shard->boxes, hand_box_on, shard);
        else if (!mail) {
            /* Sends all boxes, full or not. */
            for (unsigned owner = 0; owner < shard->shards->count; owner++)
                if (shard->boxes[owner].count > 0)
                    hand_box_on(shard, owner);
        }
        update_totals(shard);
        if (!mail && !work && !cells_waiting(&shard->cells) && !wait_for_pairs(shard))
            return;
    }
}

/* ------------------------------------------------------------------ open and close */

bool word_shards_can(const struct cpu *cpu)
{
    return cpu->packing.words == 1 && cpu->firings.complete && cpu->firings.count <= FIRINGS_MOST;
}

static void free_messages(struct word_shard *shard, struct message *list)
{
    for (struct message *next; list; list = next) {
        next = list->next;
        memory_free(&shard->shards->cpu->meter.memory, list);
    }
}

void word_shards_free(struct cpu *cpu)
{
    struct word_shards *shards = cpu->shards;
    if (!shards)
        return;
    for (unsigned i = 0; i < shards->count; i++) {
        struct word_shard *shard = &shards->list[i];
        const gordian_allocator *memory = &shard->shards->cpu->meter.memory;
        for (unsigned owner = 0; shard->messages && owner < shard->shards->count; owner++)
            memory_free(memory, shard->messages[owner]);
        free_messages(shard, shard->spare);
        free_messages(shard, atomic_load(&shard->mailbox));
        memory_free_all(memory, shard->messages, shard->boxes);
        cells_close(&shard->cells);
    }
    cells_rules_close(&shards->rules, &cpu->meter.memory);
    memory_free_all(&cpu->meter.memory, shards->list, shards);
    cpu->shards = NULL;
}

/* Admits new states up to the limit. */
static uint64_t admit_states(void *context, uint64_t states)
{
    struct cpu *cpu = context;
    uint64_t most = cpu->options->max_states, count = (uint64_t)__builtin_popcountll(states);
    uint64_t before = atomic_fetch_add_explicit(&cpu->states, count, memory_order_relaxed);
    uint64_t kept = before >= most ? 0 : most - before < count ? most - before : count;
    if (kept < count) {
        atomic_fetch_sub_explicit(&cpu->states, count - kept, memory_order_relaxed);
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_STATES);
    }
    for (; count > kept; count--)
        states &= states - 1;
    return states;
}

static bool open_shard(struct word_shard *shard, struct word_shards *shards, unsigned number)
{
    const gordian_allocator *memory = &shards->cpu->meter.memory;
    const gordian_compose_options *options = shards->cpu->options;
    shard->shards = shards;
    shard->number = number;
    shard->cells.memory = *memory;
    if (options->max_states && !options->full) {
        shard->cells.admit = admit_states;
        shard->cells.context = shards->cpu;
    }
    shard->boxes = memory_zeroed(memory, shards->count * sizeof *shard->boxes);
    shard->messages = memory_zeroed(memory, shards->count * sizeof *shard->messages);
    bool fine = shard->boxes && shard->messages;
    for (unsigned owner = 0; fine && owner < shards->count; owner++) {
        shard->messages[owner] = take_free_message(shard);
        fine = shard->messages[owner] != NULL;
        if (fine)
            shard->boxes[owner] =
                (struct cells_box){.pairs = shard->messages[owner]->pairs, .room = LETTER};
    }
    return fine;
}

static bool open_rules(struct word_shards *shards)
{
    const struct packing *packing = &shards->cpu->packing;
    uint32_t count = (uint32_t)packing->firings->count;
    if (!cells_rules_open(&shards->rules, count, shards->count, &shards->cpu->meter.memory))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct patch *patch = &packing->patches[packing->first[i]];
        cells_rules_add(&shards->rules, &(struct compose_firing){.mask = patch->mask,
                                                                 .value = patch->value,
                                                                 .flip = patch->flip});
    }
    return true;
}

static bool open_shards(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct word_shards *shards = memory_zeroed(memory, sizeof *shards);
    cpu->shards = shards;
    if (!shards)
        return false;
    shards->cpu = cpu;
    shards->list = memory_zeroed(memory, thread_pool_size(cpu->workers) * sizeof *shards->list);
    if (!shards->list)
        return false;
    shards->count = thread_pool_size(cpu->workers);
    bool fine = open_rules(shards);
    for (unsigned i = 0; i < shards->count; i++)
        fine = open_shard(&shards->list[i], shards, i) && fine;
    return fine;
}

/* ------------------------------------------------------------------ the whole run */

static void enter_initial(struct word_shards *shards)
{
    struct cpu *cpu = shards->cpu;
    uint32_t *locals = cpu->views[0].here_locals;
    uint64_t state, put = 0;
    initial_first(cpu->circuit, locals);
    do {
        pack_state(&cpu->packing, locals, &state);
        struct cell_pair pair = (struct cell_pair){state >> 6, UINT64_C(1) << (state & 63)};
        struct cells *cells = &shards->list[cells_owner(&shards->rules, pair.word)].cells;
        cells_enter(cells, &pair, 1);
        if (cells->no_memory)
            cpu_halt(shards->cpu, GORDIAN_COMPOSE_STOP_MEMORY);
        if (++put % 65536 == 0)
            cpu_report(cpu);
    } while (!cpu_halted(cpu) && initial_next(cpu->circuit, locals));
}

static void fill_bitmap(void *context, unsigned member)
{
    struct word_shards *shards = context;
    const struct cells *cells = &shards->list[member].cells;
    for (uint32_t i = 0; i < cells->count; i++)
        cpu_bitmap_take(shards->cpu, &cells->list[i]);
}

/* Moves all states to a bitmap. False: no memory for one. */
static bool words_to_bitmap(struct word_shards *shards)
{
    struct cpu *cpu = shards->cpu;
    if (!cpu_bitmap_open(cpu))
        return false;
    cpu_work(cpu, fill_bitmap, shards);
    word_shards_free(cpu);
    return true;
}

gordian_status cpu_cells(struct cpu *cpu, gordian_error *error)
{
    if (!open_shards(cpu))
        return fail_memory(error);
    struct word_shards *shards = cpu->shards;
    enter_initial(shards);
    for (;;) {
        gordian_compose_phase *phase = compose_phase(shards->cpu->result, "words");
        atomic_store(&shards->to_bitmap, false);
        atomic_store(&shards->open, shards->count);
        cpu_work(shards->cpu, explore_cells, shards);
        compose_phase_end(phase);
        shards->cpu->stuck = 0; /* this may be the second run */
        for (unsigned i = 0; i < shards->count; i++) {
            shards->cpu->stuck += shards->list[i].cells.stuck;
            if (shards->list[i].cells.stuck > 0)
                cpu_record_deadlock(shards->cpu, &shards->list[i].cells.stuck_state);
        }
        for (unsigned i = 0; phase && i < shards->count; i++) {
            phase->fired += shards->list[i].cells.fired;
            phase->found += shards->list[i].cells.entered;
            phase->sent += shards->list[i].posted;
            phase->idle_ns += shards->list[i].idle_ns;
        }
        if (cpu_halted(cpu) || !atomic_load(&shards->to_bitmap))
            return GORDIAN_OK;
        /* Enters the messages that were in transit when the threads stopped. */
        for (unsigned i = 0; i < shards->count; i++) {
            struct word_shard *shard = &shards->list[i];
            for (unsigned owner = 0; owner < shards->count; owner++) {
                cells_enter(&shards->list[owner].cells, shard->boxes[owner].pairs,
                            shard->boxes[owner].count);
                shard->boxes[owner].count = 0;
            }
            read_mailbox(shard);
        }
        for (unsigned i = 0; i < shards->count; i++)
            update_totals(&shards->list[i]);
        if (cpu_halted(cpu) || words_to_bitmap(shards))
            return GORDIAN_OK;
        shards->no_bitmap = true;
    }
}

uint64_t word_shards_unexpanded(const struct cpu *cpu)
{
    uint64_t waiting = 0;
    for (unsigned i = 0; cpu_halted((struct cpu *)cpu) && i < cpu->shards->count; i++) {
        const struct cells *cells = &cpu->shards->list[i].cells;
        for (uint32_t c = 0; c < cells->count; c++)
            waiting += (uint64_t)__builtin_popcountll(cells->list[c].waiting);
    }
    return waiting;
}

const struct cell *word_shards_cells(const struct cpu *cpu, unsigned member, size_t *count)
{
    const struct cells *cells = &cpu->shards->list[member].cells;
    *count = cells->count;
    return cells->list;
}

gordian_status word_shards_sort(struct cpu *cpu, gordian_error *error)
{
    struct word_shards *shards = cpu->shards;
    struct cells *cells = &shards->list[0].cells;
    for (unsigned i = 0; i < shards->count; i++)
        cells_settle(&shards->list[i].cells);
    /* Merges all cells into the first list. */
    struct cells *first = &shards->list[0].cells;
    size_t count = 0;
    for (unsigned i = 0; i < shards->count; i++)
        count += shards->list[i].cells.count;
    struct cell *list =
        first->memory.resize(first->memory.context, first->list, (count + 1) * sizeof *list);
    if (!list)
        return fail_memory(error);
    first->list = list;
    for (unsigned i = 1; i < shards->count; i++) {
        struct cells *part = &shards->list[i].cells;
        if (part->count)
            memcpy(first->list + first->count, part->list, part->count * sizeof *list);
        first->count += part->count;
        cells_close(part);
    }
    cpu->space = (struct space){.kind = SPACE_CELLS,
                                .memory = cpu->meter.memory,
                                .packing = &cpu->packing,
                                .cells = cells->list,
                                .cell_count = cells->count};
    cells->list = NULL;
    word_shards_free(cpu);
    space_sort_cells(&cpu->space);
    return GORDIAN_OK;
}

struct numbering {
    struct cpu *cpu;
    uint64_t state;
    _Atomic uint64_t number;
};

static void count_before(void *context, unsigned member)
{
    struct numbering *numbering = context;
    uint64_t before = cells_before(&numbering->cpu->shards->list[member].cells, numbering->state);
    atomic_fetch_add_explicit(&numbering->number, before, memory_order_relaxed);
}

void word_shards_number(struct cpu *cpu)
{
    for (size_t i = 0; i < cpu->result->found_count; i++) {
        struct numbering numbering = {.cpu = cpu};
        pack_state(&cpu->packing, cpu->result->found[i].state, &numbering.state);
        cpu_work(cpu, count_before, &numbering);
        cpu->result->found[i].number = atomic_load(&numbering.number);
    }
}
