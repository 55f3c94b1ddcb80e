/* Skip lists along paths of waiting processes (path.h). */
#include "engines/detect/engine/path.h"

#include <string.h>

void path_init(struct path_index *index, struct rag *graph)
{
    memset(index, 0, sizeof *index);
    index->graph = graph;
}

void path_free(struct path_index *index)
{
    memory_free(&index->graph->memory, index->towers);
}

static struct path_tower *tower_at(const struct path_index *index, uint32_t place)
{
    return (struct path_tower *)&index->towers[place];
}

static void clear_levels(struct path_tower *tower, uint32_t height)
{
    for (uint32_t i = 0; i < height; i++)
        tower->levels[i].tower = NONE;
}

/* The stamps are used up, after four thousand million: an old pointer might look valid. */
static void reset_stamps(struct path_index *index)
{
    uint32_t height;
    for (uint32_t place = 0; place < index->tower_used; place += PATH_TOWER_WORDS(height)) {
        struct path_tower *tower = tower_at(index, place);
        height = path_height(tower->owner);
        tower->stamp = 0;
        clear_levels(tower, height);
    }
}

/* Invalidates all pointers to this tower. */
static void move_on(struct path_index *index, uint32_t place)
{
    if (++tower_at(index, place)->stamp == 0)
        reset_stamps(index);
}

void path_forget(struct path_index *index, uint32_t process)
{
    uint32_t place = index->graph->processes[process].path;
    if (place == NONE)
        return;
    move_on(index, place);
    clear_levels(tower_at(index, place), path_height(process)); /* its next wait has other paths */
}

/* Returns the place of the tower of a waiting process of that height. NONE: out of memory. */
static uint32_t tower_of(struct path_index *index, uint32_t process, uint32_t height)
{
    struct rag_process *p = &index->graph->processes[process];
    if (p->path != NONE)
        return p->path;
    uint32_t place = index->tower_used, wanted = place + PATH_TOWER_WORDS(height);
    if (wanted < place || !memory_grow32(&index->graph->memory, &index->towers, &index->tower_room,
                                         wanted, sizeof *index->towers))
        return NONE;
    index->tower_used = wanted;
    p->path = place;
    struct path_tower *tower = tower_at(index, place);
    tower->owner = process;
    tower->stamp = 0;
    clear_levels(tower, height);
    return place;
}

/* Sets the pointer of the tower at `from` on `level`, counted from 1. */
static void point_to(struct path_index *index, uint32_t from, uint32_t level, uint32_t to)
{
    tower_at(index, from)->levels[level - 1] =
        (struct path_pointer){.tower = to, .stamp = tower_at(index, to)->stamp};
}

/* A walk ahead: its position, and on each level the last tower passed that has no pointer yet. */
struct walk {
    uint32_t process;
    uint32_t tower; /* of `process`, if a jump led here: it waits, and its record is not read */
    uint32_t open[PATH_LEVELS + 1];
    uint32_t top; /* higher levels are not open */
};

/* Returns the highest level of a tower whose pointer is still valid, or 0. */
static uint32_t highest_true(const struct path_index *index, const struct path_tower *tower,
                             uint32_t height)
{
    for (uint32_t level = height; level; level--) {
        struct path_pointer pointer = tower->levels[level - 1];
        if (pointer.tower != NONE && tower_at(index, pointer.tower)->stamp == pointer.stamp)
            return level;
    }
    return 0;
}

/* Takes one step: along the highest valid pointer, whose level it returns, or to the next process
 * and returns 0. */
static uint32_t step_on(struct path_index *index, struct walk *walk)
{
    uint32_t height = path_height(walk->process), best = 0, place = walk->tower;
    if (height && place == NONE)
        place = tower_of(index, walk->process, height);
    if (height && place != NONE) {
        /* At the tower at `place`: close the open levels, open those without a pointer, and find
         * the level to leave by. */
        for (uint32_t level = 1; level <= height && level <= walk->top; level++)
            if (walk->open[level] != NONE)
                point_to(index, walk->open[level], level, place);
        best = highest_true(index, tower_at(index, place), height);
        /* The levels below do not know what a jump passes over. */
        for (uint32_t level = 1; level <= height; level++)
            walk->open[level] = level <= best ? NONE : place;
        if (walk->top < height)
            walk->top = height;
    }
    if (best) {
        walk->tower = tower_at(index, place)->levels[best - 1].tower;
        walk->process = tower_at(index, walk->tower)->owner;
    } else {
        walk->process = path_next(index->graph, walk->process);
        walk->tower = NONE;
    }
    return best;
}

/* Returns whether the walk goes on. A jump leads to a waiting process that closed no deadlock, and
 * never to `stop`, which begins or ends its wait. Without a deadlock the marks need not be read. */
static bool goes_on(const struct path_index *index, const struct walk *walk, uint32_t stop)
{
    return walk->tower != NONE ||
           (walk->process != stop && index->graph->wait[walk->process] != NONE &&
            !(index->closing && index->graph->processes_more[walk->process].mark == PATH_CLOSING));
}

uint32_t path_end(struct path_index *index, uint32_t from, uint32_t stop)
{
    struct walk walk = {.process = from, .tower = NONE, .top = 0};
    while (goes_on(index, &walk, stop))
        step_on(index, &walk);
    return walk.process;
}

void path_break(struct path_index *index, uint32_t process)
{
    const struct rag_process *processes = index->graph->processes;
    struct walk walk = {.process = path_next(index->graph, process), .tower = NONE, .top = 0};
    uint32_t highest = path_height(process), from = NONE, level = 0;
    while (goes_on(index, &walk, process)) {
        uint32_t height = path_height(walk.process);
        if (height > highest) {
            uint32_t place = processes[walk.process].path;
            highest = height;
            if (place != NONE) /* else nothing leads there */
                move_on(index, place);
            if (level) /* the pointers that led here do not lead over `process` */
                point_to(index, processes[from].path, level, place);
        }
        from = walk.process;
        level = step_on(index, &walk);
    }
}

/* Returns a process that waits directly for `process`: the first waiter of one of the first
 * resources it holds. NONE: there is none. */
static uint32_t child_of(const struct rag *graph, uint32_t process)
{
    uint32_t resource = graph->processes[process].held;
    for (int looks = 8; looks && resource != NONE; looks--) {
        const struct rag_resource *r = &graph->resources[resource];
        if (r->queue_head != NONE)
            return r->queue_head;
        resource = r->held_next;
    }
    return NONE;
}

void path_join(struct path_index *index, uint32_t process)
{
    /* Walk back to the nearest process of each height. High processes are as rare as they are far,
     * so the expected path is as long as there are levels. */
    uint32_t height = path_height(process), level = 1, at = process, place = NONE;
    for (uint32_t budget = 32u << (2 * height); level <= height && budget; budget--) {
        at = child_of(index->graph, at);
        if (at == NONE || at == process)
            return;
        uint32_t reached = path_height(at);
        if (reached < level)
            continue;
        uint32_t from = tower_of(index, at, reached);
        if (place == NONE)
            place = tower_of(index, process, height);
        if (place == NONE || from == NONE)
            return;
        for (; level <= height && level <= reached; level++)
            point_to(index, from, level, place);
    }
}
