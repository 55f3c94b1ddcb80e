/* Delivers the product: the threads make pages of rows. The caller's thread passes them to the sink
 * in order while the next ones are made. */
#include "engines/compose/cpu/cpu.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

/* Rows of consecutive states. */
struct page {
    uint64_t first;
    size_t count;
    uint32_t *locals; /* factor_count per row */
    size_t *ends;     /* of each row, within the transitions of the page */
    uint64_t *labels, *to;
    size_t local_room, end_room, label_room, to_room, used;
    struct step *steps; /* of the current row, for sorting */
    size_t step_room;
    bool failed;
    bool cut; /* halted within a row: it and all later rows are missing */
};

struct step {
    uint64_t key; /* firing names as a number that compares like label_compare */
    uint64_t to;
    const uint64_t *label;
};

struct delivering {
    struct cpu *cpu;
    const struct space *space;
    bool keep; /* false: count only */
    uint64_t page_states, first;
    struct page *pages; /* two sets of one page per thread */
    unsigned set;       /* the set that is being filled */
    _Atomic uint64_t next;
    _Atomic uint64_t joint; /* counting only: joint firings of the states so far */
};

/* ------------------------------------------------------------------ order */

static uint64_t label_sort_key(uint64_t word)
{
    /* Lists of names compare by their first difference: the list that has the name comes first,
     * unless the other list has ended. So write, from name 0 on, 0 for a name that fires and 1 for
     * one that does not, up to the last name that fires, and 0 after it. Labels then compare like
     * these numbers, first bit most significant. If the numbers are equal, the shorter list comes
     * first. */
    word = (word >> 1 & 0x5555555555555555u) | (word & 0x5555555555555555u) << 1;
    word = (word >> 2 & 0x3333333333333333u) | (word & 0x3333333333333333u) << 2;
    word = (word >> 4 & 0x0f0f0f0f0f0f0f0fu) | (word & 0x0f0f0f0f0f0f0f0fu) << 4;
    uint64_t reversed = __builtin_bswap64(word);
    return reversed ? ~reversed & ~((reversed & -reversed) - 1) : 0;
}

static int compare_short(const void *left, const void *right, void *context)
{
    (void)context;
    const struct step *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    int sizes = __builtin_popcountll(*a->label) - __builtin_popcountll(*b->label);
    return sizes ? sizes : (a->to > b->to) - (a->to < b->to);
}

static int compare_long(const void *left, const void *right, void *context)
{
    const struct step *a = left, *b = right;
    const gordian_circuit *circuit = context;
    int labels = label_compare(a->label, b->label, circuit->label_words, circuit->name_count,
                               circuit->value_bits);
    return labels ? labels : (a->to > b->to) - (a->to < b->to);
}

/* Sorts the last row of the page, which begins at `start`. */
static bool sort_row(struct page *page, size_t start, const gordian_circuit *circuit,
                     const gordian_allocator *memory)
{
    size_t count = page->used - start, words = circuit->label_words;
    bool small = words == 1 && circuit->value_bits == 0;
    if (count < 2)
        return true;
    /* copies the labels behind themselves, then moves them back in order */
    if (!memory_grow(memory, &page->steps, &page->step_room, count, sizeof *page->steps) ||
        !memory_grow(memory, &page->labels, &page->label_room, (page->used + count) * words,
                     sizeof *page->labels))
        return false;
    uint64_t *labels = page->labels + start * words, *copy = page->labels + page->used * words;
    memcpy(copy, labels, count * words * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        page->steps[i] = (struct step){small ? label_sort_key(copy[i]) : 0, page->to[start + i],
                                       copy + i * words};
    sort_with(page->steps, count, sizeof *page->steps, small ? compare_short : compare_long,
              (void *)circuit);
    for (size_t i = 0; i < count; i++) {
        memcpy(labels + i * words, page->steps[i].label, words * sizeof *labels);
        page->to[start + i] = page->steps[i].to;
    }
    return true;
}

/* ------------------------------------------------------------------ making pages */

struct taking {
    const struct delivering *delivering;
    struct page *page;
    bool failed, cut;
    uint64_t looked, counted;
};

static bool take_transition(void *context, const struct firing_view *view)
{
    struct taking *taking = context;
    struct page *page = taking->page;
    const gordian_allocator *memory = &taking->delivering->cpu->meter.memory;
    size_t words = view->packing->circuit->label_words;
    if (++taking->looked % 65536 == 0 && cpu_halted(taking->delivering->cpu)) {
        taking->cut = true;
        return false;
    }
    uint64_t number = space_number(taking->delivering->space, view->to);
    if (number == UINT64_MAX)
        return true;
    taking->counted++;
    if (!taking->delivering->keep)
        return true;
    if (!memory_extend(memory, page->to, page->to_room, page->used) ||
        !memory_grow(memory, &page->labels, &page->label_room, (page->used + 1) * words,
                     sizeof *page->labels)) {
        taking->failed = true;
        return false;
    }
    page->to[page->used] = number;
    memcpy(page->labels + page->used++ * words, view->label, words * sizeof *page->labels);
    return true;
}

/* May the joint firings of this state be enumerated to count some of them? *cut: no, there are too
 * many. False: out of memory. */
static bool may_count(struct delivering *delivering, struct firing_view *view, bool *cut)
{
    uint64_t joint = 0;
    if (delivering->keep || delivering->cpu->options->indivisible)
        return true;
    if (!firing_view_count(view, &joint))
        return false;
    if (joint > COMPOSE_AMONG_MOST ||
        atomic_fetch_add(&delivering->joint, joint) + joint > COMPOSE_AMONG_MOST) {
        atomic_store(&delivering->joint, UINT64_MAX / 2); /* stops all other threads as well */
        *cut = true;
    }
    return true;
}

/* Makes the rows of `count` states from `first` on. */
static bool make_page_rows(struct delivering *delivering, unsigned member, struct page *page,
                           uint64_t first, uint64_t count)
{
    struct cpu *cpu = delivering->cpu;
    const gordian_allocator *memory = &cpu->meter.memory;
    struct firing_view *view = &cpu->views[member];
    uint64_t *state = view->here;
    uint32_t *locals = view->here_locals;
    struct taking taking = {.delivering = delivering, .page = page};
    size_t factors = cpu->circuit->factor_count;
    struct space_walk walk;
    space_seek(&walk, delivering->space, first, state, locals);
    for (uint64_t n = 0; n < count; n++) {
        size_t start = page->used;
        bool short_of_memory;
        if (!firing_view_find(view, state) || !may_count(delivering, view, &page->cut))
            return false;
        if (page->cut)
            break;
        if (!firing_view_each(view, state, cpu->options->indivisible, take_transition, &taking,
                              &short_of_memory) &&
            (short_of_memory || taking.failed))
            return false;
        page->cut = taking.cut;
        if (page->cut)
            break;
        if (delivering->keep) {
            if (!memory_extend(memory, page->ends, page->end_room, page->count) ||
                !memory_grow(memory, &page->locals, &page->local_room, (page->count + 1) * factors,
                             sizeof *page->locals) ||
                !sort_row(page, start, cpu->circuit, memory))
                return false;
            memcpy(page->locals + page->count * factors, locals, factors * sizeof *locals);
            page->ends[page->count++] = page->used;
        }
        if (n + 1 < count)
            space_step(&walk);
    }
    atomic_fetch_add_explicit(&cpu->transitions, taking.counted, memory_order_relaxed);
    return true;
}

static void make_page(void *context, unsigned member)
{
    struct delivering *delivering = context;
    struct cpu *cpu = delivering->cpu;
    unsigned members = thread_pool_size(cpu->workers);
    struct page *page = &delivering->pages[delivering->set * members + member];
    page->count = page->used = 0;
    page->cut = false;
    page->first = delivering->first + member * delivering->page_states;
    page->failed = false;
    while (!page->failed) { /* one page to keep; when only counting, all pages */
        if (!delivering->keep)
            page->first = atomic_fetch_add(&delivering->next, delivering->page_states);
        if (page->first >= delivering->space->count || (!delivering->keep && cpu_halted(cpu)))
            break;
        uint64_t left = delivering->space->count - page->first;
        page->failed =
            !make_page_rows(delivering, member, page, page->first,
                            left < delivering->page_states ? left : delivering->page_states);
        if (delivering->keep || page->cut)
            break;
    }
}

/* ------------------------------------------------------------------ delivering */

static gordian_status deliver_page(struct cpu *cpu, const struct page *page,
                                   const gordian_compose_sink *sink, gordian_error *error)
{
    const gordian_circuit *circuit = cpu->circuit;
    size_t start = 0;
    for (size_t i = 0; i < page->count; i++) {
        const uint32_t *locals = page->locals + i * circuit->factor_count;
        gordian_compose_row row = {
            .number = page->first + i,
            .state = locals,
            .initial = initial_is(circuit, locals),
            .count = page->ends[i] - start,
            .labels = page->labels + start * circuit->label_words,
            .to = page->to + start,
        };
        TRY(sink->row(sink->context, &row, error));
        start = page->ends[i];
    }
    atomic_fetch_add_explicit(&cpu->written, start, memory_order_relaxed);
    return GORDIAN_OK;
}

static void pages_free(struct delivering *delivering)
{
    const gordian_allocator *memory = &delivering->cpu->meter.memory;
    for (unsigned i = 0; delivering->pages && i < 2 * thread_pool_size(delivering->cpu->workers);
         i++) {
        memory_free_all(memory, delivering->pages[i].locals, delivering->pages[i].ends,
                        delivering->pages[i].labels, delivering->pages[i].to,
                        delivering->pages[i].steps);
    }
    memory_free(memory, delivering->pages);
}

static gordian_status deliver_page_set(struct delivering *delivering, unsigned set,
                                       const gordian_compose_sink *sink, gordian_error *error)
{
    unsigned members = thread_pool_size(delivering->cpu->workers);
    for (unsigned m = 0; m < members; m++) {
        const struct page *page = &delivering->pages[set * members + m];
        TRY(page->failed ? fail_memory(error) : deliver_page(delivering->cpu, page, sink, error));
        if (page->cut)
            break;
    }
    return GORDIAN_OK;
}

static gordian_status deliver_pages(struct delivering *delivering, const gordian_compose_sink *sink,
                                    gordian_error *error)
{
    struct cpu *cpu = delivering->cpu;
    uint64_t step = delivering->page_states * thread_pool_size(cpu->workers);
    gordian_status status = GORDIAN_OK;
    bool made = false;
    while (status == GORDIAN_OK && (made || delivering->first < delivering->space->count)) {
        bool more = delivering->first < delivering->space->count && !cpu_halted(cpu);
        unsigned ready = 1 - delivering->set;
        if (more)
            thread_pool_start(cpu->workers, make_page, delivering);
        if (made)
            status = deliver_page_set(delivering, ready, sink, error);
        if (more)
            cpu_wait(cpu);
        if (!cpu_report(cpu) && !more)
            break;
        made = more;
        delivering->first += step;
        delivering->set = ready;
    }
    return status;
}

gordian_status cpu_deliver(struct cpu *cpu, const struct space *space,
                           const gordian_compose_sink *sink, gordian_error *error)
{
    struct delivering delivering = {.cpu = cpu, .space = space, .keep = true};
    uint64_t counted = atomic_load(&cpu->transitions);
    /* A page has about ten thousand transitions. */
    uint64_t each = space->count ? atomic_load(&cpu->transitions) / space->count : 0;
    uint64_t size = 65536 / (each < 65535 ? each + 1 : 65536);
    delivering.page_states = size < 4096 ? size : 4096;
    delivering.pages = memory_zeroed(&cpu->meter.memory,
                                     2 * thread_pool_size(cpu->workers) * sizeof *delivering.pages);
    gordian_status status = delivering.pages ? GORDIAN_OK : fail_memory(error);
    THEN(status, sink->begin(sink->context, cpu->circuit, space->count,
                             cpu->options->count_transitions ? counted : UINT64_MAX, error));
    THEN(status, deliver_pages(&delivering, sink, error));
    pages_free(&delivering);
    atomic_store(&cpu->transitions, counted);
    return status;
}

gordian_status cpu_count_among(struct cpu *cpu, const struct space *space, gordian_error *error)
{
    struct delivering delivering = {.cpu = cpu, .space = space, .page_states = 64};
    delivering.pages = memory_zeroed(&cpu->meter.memory,
                                     2 * thread_pool_size(cpu->workers) * sizeof *delivering.pages);
    if (!delivering.pages)
        return fail_memory(error);
    atomic_store(&cpu->transitions, 0);
    cpu_work(cpu, make_page, &delivering);
    gordian_status status = GORDIAN_OK;
    for (unsigned m = 0; m < thread_pool_size(cpu->workers); m++)
        if (delivering.pages[m].failed)
            status = fail_memory(error);
    if (atomic_load(&delivering.joint) > COMPOSE_AMONG_MOST)
        compose_omit_transitions(cpu->result);
    pages_free(&delivering);
    return status;
}
