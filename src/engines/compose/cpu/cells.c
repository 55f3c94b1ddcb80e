/* Finding states in words of 64 neighbours, in a hash table (engines/compose/explore/cells.h).
 * Every thread owns words and has a table of them to itself. What it finds for others it writes to
 * them: letters of some hundred pairs, pushed onto the list that is the owner's mailbox. Nobody
 * waits for anybody unless there is nothing to do.
 *
 * `open` counts the threads at work and the letters that have not been read. A letter is counted
 * before it is posted and until what it says has been entered, by a thread that counts, too: so
 * when it is 0 nobody has anything to do, and nobody ever will. */
#include "engines/compose/explore/cells.h"
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <sched.h>
#include <string.h>

#define FIRINGS_MOST 1024u /* are tried on a word, one after another */
#define LETTER       510u  /* pairs: two pages with the rest */
#define CELLS        64u   /* fire between looks at the mail */
#define SPINS        32u   /* looks at the mailbox before others may have the core */
#define LINE         128u  /* bytes that go between cores together */

struct letter {
    struct letter *next;
    uint64_t count;
    struct cell_pair pairs[LETTER];
};

/* A thread's. */
struct hand {
    struct crew *crew;
    unsigned number;
    struct cells cells;
    struct cells_box *boxes;     /* by owner: what is written so far ... */
    struct letter **letters;     /* ... in these */
    struct letter *spare;        /* have been read */
    uint64_t told, told_waiting; /* what everybody knows of it */
    uint64_t posted, idle_ns;
    char apart[LINE];
    union {
        struct letter *_Atomic mailbox;
        char line[LINE]; /* of its own */
    };
};

struct crew {
    struct cpu *cpu;
    struct cells_rules rules;
    struct hand *hands;
    unsigned count;
    bool no_bitmap; /* there was no memory for one */
    _Atomic bool turn;
    char apart[LINE];
    _Atomic uint64_t open;
};

/* ------------------------------------------------------------------ letters */

static struct letter *take_letter(struct hand *hand)
{
    struct letter *letter = hand->spare;
    if (letter)
        hand->spare = letter->next;
    else
        letter = memory_alloc(&hand->crew->cpu->meter.memory, sizeof *letter);
    return letter;
}

static void post_letter(struct hand *hand, unsigned owner)
{
    struct crew *crew = hand->crew;
    struct letter *letter = hand->letters[owner], *blank = take_letter(hand);
    struct letter *_Atomic *mailbox = &crew->hands[owner].mailbox;
    struct cells_box *box = &hand->boxes[owner];
    if (!blank) { /* what it says is lost, and everybody will stop */
        hand->cells.no_memory = true;
        box->count = 0;
        return;
    }
    letter->count = box->count;
    hand->posted += letter->count;
    hand->letters[owner] = blank;
    *box = (struct cells_box){.pairs = blank->pairs, .room = LETTER};
    atomic_fetch_add(&crew->open, 1);
    letter->next = atomic_load_explicit(mailbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(mailbox, &letter->next, letter,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

static void hand_on(void *context, uint32_t owner)
{
    struct hand *hand = context;
    struct cells_box *box = &hand->boxes[owner];
    if (owner != hand->number) {
        post_letter(hand, owner);
        return;
    }
    uint32_t count = box->count;
    box->count = 0;
    cells_enter(&hand->cells, box->pairs, count);
}

/* True: there was mail. */
static bool read_mail(struct hand *hand)
{
    if (!atomic_load_explicit(&hand->mailbox, memory_order_relaxed))
        return false;
    struct letter *letter = atomic_exchange_explicit(&hand->mailbox, NULL, memory_order_acquire);
    uint64_t read = 0;
    for (struct letter *next; letter; letter = next, read++) {
        next = letter->next;
        cells_enter(&hand->cells, letter->pairs, letter->count);
        letter->next = hand->spare;
        hand->spare = letter;
    }
    atomic_fetch_sub(&hand->crew->open, read);
    return true;
}

/* ------------------------------------------------------------------ work */

static bool over_early(struct crew *crew)
{
    return cpu_halted(crew->cpu) || atomic_load_explicit(&crew->turn, memory_order_relaxed);
}

/* A bitmap with one state a word takes no more than a table of states would, and is much faster. */
static bool bitmap_pays(const struct crew *crew)
{
    const struct cpu *cpu = crew->cpu;
    if (!cpu->grid.words || crew->no_bitmap || (cpu->options->max_states && !cpu->options->full))
        return false;
    return atomic_load_explicit(&cpu->states, memory_order_relaxed) >= cpu->grid.words;
}

/* Tells the others how far it is. */
static void tell_others(struct hand *hand)
{
    struct crew *crew = hand->crew;
    struct cpu *cpu = crew->cpu;
    struct cells *cells = &hand->cells;
    uint64_t waiting = cells_left(cells);
    if (!cells->admit && cells->states != hand->told)
        atomic_fetch_add_explicit(&cpu->states, cells->states - hand->told, memory_order_relaxed);
    atomic_fetch_add_explicit(&cpu->waiting, waiting - hand->told_waiting, memory_order_relaxed);
    hand->told = cells->states;
    hand->told_waiting = waiting;
    if (cells->no_memory)
        cpu_halt(cpu, GORDIAN_COMPOSE_STOP_MEMORY);
    if (bitmap_pays(crew))
        atomic_store_explicit(&crew->turn, true, memory_order_relaxed);
}

/* Sends what is written, full or not. */
static void finish_boxes(struct hand *hand)
{
    for (unsigned owner = 0; owner < hand->crew->count; owner++)
        if (hand->boxes[owner].count > 0)
            hand_on(hand, owner);
}

/* Waits for mail; false: it is over. */
static bool wait_for_mail(struct hand *hand)
{
    uint64_t start = clock_ns();
    struct crew *crew = hand->crew;
    atomic_fetch_sub(&crew->open, 1);
    for (unsigned looks = 1;; looks++) {
        if (atomic_load_explicit(&hand->mailbox, memory_order_relaxed)) {
            atomic_fetch_add(&crew->open, 1);
            hand->idle_ns += clock_ns() - start;
            return true;
        }
        if (atomic_load(&crew->open) == 0 || over_early(crew))
            break;
        if (looks % SPINS == 0)
            sched_yield();
    }
    hand->idle_ns += clock_ns() - start;
    return false;
}

static void explore_cells(void *context, unsigned member)
{
    struct crew *crew = context;
    struct hand *hand = &crew->hands[member];
    while (!over_early(crew)) {
        bool mail = read_mail(hand), work = cells_waiting(&hand->cells);
        if (work)
            cells_fire(&hand->cells, &crew->rules, CELLS, hand->boxes, hand_on, hand);
        else if (!mail)
            finish_boxes(hand);
        tell_others(hand);
        if (!mail && !work && !cells_waiting(&hand->cells) && !wait_for_mail(hand))
            return;
    }
}

/* ------------------------------------------------------------------ opening and closing */

bool crew_can(const struct cpu *cpu)
{
    return cpu->packing.words == 1 && cpu->firings.complete && cpu->firings.count <= FIRINGS_MOST;
}

static void free_letters(struct hand *hand, struct letter *list)
{
    for (struct letter *next; list; list = next) {
        next = list->next;
        memory_free(&hand->crew->cpu->meter.memory, list);
    }
}

static void close_hand(struct hand *hand)
{
    const gordian_allocator *memory = &hand->crew->cpu->meter.memory;
    for (unsigned owner = 0; hand->letters && owner < hand->crew->count; owner++)
        memory_free(memory, hand->letters[owner]);
    free_letters(hand, hand->spare);
    free_letters(hand, atomic_load(&hand->mailbox));
    memory_free_all(memory, hand->letters, hand->boxes);
    cells_close(&hand->cells);
}

void crew_free(struct cpu *cpu)
{
    struct crew *crew = cpu->crew;
    if (!crew)
        return;
    for (unsigned i = 0; i < crew->count; i++)
        close_hand(&crew->hands[i]);
    cells_rules_close(&crew->rules, &cpu->meter.memory);
    memory_free_all(&cpu->meter.memory, crew->hands, crew);
    cpu->crew = NULL;
}

/* As many of the new states as there may be. */
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

static bool open_hand(struct hand *hand, struct crew *crew, unsigned number)
{
    const gordian_allocator *memory = &crew->cpu->meter.memory;
    const gordian_compose_options *options = crew->cpu->options;
    hand->crew = crew;
    hand->number = number;
    hand->cells.memory = *memory;
    if (options->max_states && !options->full) {
        hand->cells.admit = admit_states;
        hand->cells.context = crew->cpu;
    }
    hand->boxes = memory_zeroed(memory, crew->count * sizeof *hand->boxes);
    hand->letters = memory_zeroed(memory, crew->count * sizeof *hand->letters);
    bool fine = hand->boxes && hand->letters;
    for (unsigned owner = 0; fine && owner < crew->count; owner++) {
        hand->letters[owner] = take_letter(hand);
        fine = hand->letters[owner] != NULL;
        if (fine)
            hand->boxes[owner] =
                (struct cells_box){.pairs = hand->letters[owner]->pairs, .room = LETTER};
    }
    return fine;
}

static bool open_rules(struct crew *crew)
{
    const struct packing *packing = &crew->cpu->packing;
    uint32_t count = (uint32_t)packing->firings->count;
    if (!cells_rules_open(&crew->rules, count, crew->count, &crew->cpu->meter.memory))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct patch *patch = &packing->patches[packing->first[i]];
        cells_rules_add(&crew->rules, &(struct compose_firing){.mask = patch->mask,
                                                               .value = patch->value,
                                                               .flip = patch->flip});
    }
    return true;
}

static bool open_crew(struct cpu *cpu)
{
    const gordian_allocator *memory = &cpu->meter.memory;
    struct crew *crew = memory_zeroed(memory, sizeof *crew);
    cpu->crew = crew;
    if (!crew)
        return false;
    crew->cpu = cpu;
    crew->hands = memory_zeroed(memory, team_size(cpu->team) * sizeof *crew->hands);
    if (!crew->hands)
        return false;
    crew->count = team_size(cpu->team);
    bool fine = open_rules(crew);
    for (unsigned i = 0; i < crew->count; i++)
        fine = open_hand(&crew->hands[i], crew, i) && fine;
    return fine;
}

/* ------------------------------------------------------------------ all of it */

static void enter_pair_of(struct crew *crew, struct cell_pair pair)
{
    struct cells *cells = &crew->hands[cells_owner(&crew->rules, pair.word)].cells;
    cells_enter(cells, &pair, 1);
    if (cells->no_memory)
        cpu_halt(crew->cpu, GORDIAN_COMPOSE_STOP_MEMORY);
}

static void enter_initial(struct crew *crew)
{
    struct cpu *cpu = crew->cpu;
    uint32_t *locals = cpu->scenes[0].here_locals;
    uint64_t state, put = 0;
    initial_first(cpu->circuit, locals);
    do {
        pack_state(&cpu->packing, locals, &state);
        enter_pair_of(crew, (struct cell_pair){state >> 6, UINT64_C(1) << (state & 63)});
        if (++put % 65536 == 0)
            cpu_report(cpu);
    } while (!cpu_halted(cpu) && initial_next(cpu->circuit, locals));
}

/* Enters what was on its way when they stopped. */
static void enter_rest(struct crew *crew)
{
    for (unsigned i = 0; i < crew->count; i++) {
        struct hand *hand = &crew->hands[i];
        for (unsigned owner = 0; owner < crew->count; owner++) {
            cells_enter(&crew->hands[owner].cells, hand->boxes[owner].pairs,
                        hand->boxes[owner].count);
            hand->boxes[owner].count = 0;
        }
        read_mail(hand);
    }
    for (unsigned i = 0; i < crew->count; i++)
        tell_others(&crew->hands[i]);
}

static void fill_bitmap(void *context, unsigned member)
{
    struct crew *crew = context;
    const struct cells *cells = &crew->hands[member].cells;
    for (uint32_t i = 0; i < cells->count; i++)
        cpu_bitmap_take(crew->cpu, &cells->list[i]);
}

/* Everything into a bitmap. False: no memory for one. */
static bool turn_to_bitmap(struct crew *crew)
{
    struct cpu *cpu = crew->cpu;
    if (!cpu_bitmap_open(cpu))
        return false;
    cpu_work(cpu, fill_bitmap, crew);
    crew_free(cpu);
    return true;
}

static void explore_all(struct crew *crew)
{
    gordian_compose_phase *phase = compose_phase(crew->cpu->result, "words");
    atomic_store(&crew->turn, false);
    atomic_store(&crew->open, crew->count);
    cpu_work(crew->cpu, explore_cells, crew);
    compose_phase_end(phase);
    crew->cpu->stuck = 0; /* it may be the second time */
    for (unsigned i = 0; i < crew->count; i++) {
        crew->cpu->stuck += crew->hands[i].cells.stuck;
        if (crew->hands[i].cells.stuck > 0)
            cpu_note_stuck(crew->cpu, &crew->hands[i].cells.stuck_state);
    }
    for (unsigned i = 0; phase && i < crew->count; i++) {
        phase->fired += crew->hands[i].cells.fired;
        phase->found += crew->hands[i].cells.entered;
        phase->sent += crew->hands[i].posted;
        phase->idle_ns += crew->hands[i].idle_ns;
    }
}

gordian_status cpu_cells(struct cpu *cpu, gordian_error *error)
{
    if (!open_crew(cpu))
        return fail_memory(error);
    struct crew *crew = cpu->crew;
    enter_initial(crew);
    for (;;) {
        explore_all(crew);
        if (cpu_halted(cpu) || !atomic_load(&crew->turn))
            return GORDIAN_OK;
        enter_rest(crew);
        if (cpu_halted(cpu) || turn_to_bitmap(crew))
            return GORDIAN_OK;
        crew->no_bitmap = true;
    }
}

uint64_t crew_unlooked(const struct cpu *cpu)
{
    uint64_t waiting = 0;
    for (unsigned i = 0; cpu_halted((struct cpu *)cpu) && i < cpu->crew->count; i++) {
        const struct cells *cells = &cpu->crew->hands[i].cells;
        for (uint32_t c = 0; c < cells->count; c++)
            waiting += (uint64_t)__builtin_popcountll(cells->list[c].waiting);
    }
    return waiting;
}

const struct cell *crew_cells(const struct cpu *cpu, unsigned member, size_t *count)
{
    const struct cells *cells = &cpu->crew->hands[member].cells;
    *count = cells->count;
    return cells->list;
}

/* The cells of all in the first one's list. */
static bool join_cells(struct crew *crew)
{
    struct cells *first = &crew->hands[0].cells;
    size_t count = 0;
    for (unsigned i = 0; i < crew->count; i++)
        count += crew->hands[i].cells.count;
    struct cell *list =
        first->memory.resize(first->memory.context, first->list, (count + 1) * sizeof *list);
    if (!list)
        return false;
    first->list = list;
    for (unsigned i = 1; i < crew->count; i++) {
        struct cells *part = &crew->hands[i].cells;
        if (part->count)
            memcpy(first->list + first->count, part->list, part->count * sizeof *list);
        first->count += part->count;
        cells_close(part);
    }
    return true;
}

gordian_status crew_sort(struct cpu *cpu, gordian_error *error)
{
    struct crew *crew = cpu->crew;
    struct cells *cells = &crew->hands[0].cells;
    for (unsigned i = 0; i < crew->count; i++)
        cells_settle(&crew->hands[i].cells);
    if (!join_cells(crew))
        return fail_memory(error);
    cpu->space = (struct space){.kind = SPACE_CELLS,
                                .memory = cpu->meter.memory,
                                .packing = &cpu->packing,
                                .cells = cells->list,
                                .cell_count = cells->count};
    cells->list = NULL;
    crew_free(cpu);
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
    uint64_t before = cells_before(&numbering->cpu->crew->hands[member].cells, numbering->state);
    atomic_fetch_add_explicit(&numbering->number, before, memory_order_relaxed);
}

void crew_number(struct cpu *cpu)
{
    for (size_t i = 0; i < cpu->result->found_count; i++) {
        struct numbering numbering = {.cpu = cpu};
        pack_state(&cpu->packing, cpu->result->found[i].state, &numbering.state);
        cpu_work(cpu, count_before, &numbering);
        cpu->result->found[i].number = atomic_load(&numbering.number);
    }
}
