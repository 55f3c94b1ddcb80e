/*
 * Random structured programs: the longest path, and the most of each unit on any, against what the
 * program's own tree says; and the bound for any path against schedules in which every warp takes a
 * path of its own.
 */
#include "foundation/base/random.h"
#include "ptx_test.h"

#define DEPTH 4
#define MOST  400u /* letters of a path that is played */

struct program {
    struct random random;
    char text[60000];
    size_t used;
    unsigned labels, counters;
    uint64_t weights[GORDIAN_MAKESPAN_TYPES];
    gordian_ptx_named loops[64];
    char names[64][12];
    size_t loop_count;
};

static void say(struct program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

#include <stdarg.h>

static void say(struct program *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    p->used += (size_t)vsnprintf(p->text + p->used, sizeof p->text - p->used, format, arguments);
    va_end(arguments);
    REQUIRE(p->used < sizeof p->text);
}

/* What a part of the program can cost at most, by these weights; and a random path's letters. */
struct part {
    enum { LINE, SEQUENCE, EITHER, LOOP } kind;
    char letter;
    unsigned times;
    struct part *parts[3];
    size_t count;
};

static struct part store[20000];
static size_t stored;

static struct part *new_part(int kind)
{
    REQUIRE(stored < sizeof store / sizeof *store);
    store[stored] = (struct part){.kind = kind};
    return &store[stored++];
}

static struct part *line(struct program *p, char letter)
{
    struct part *part = new_part(LINE);
    part->letter = letter;
    if (letter == 'L')
        say(p, "ld.global.f32 %%f1, [%%rd1];\n");
    else if (letter == 'S')
        say(p, "tanh.approx.f32 %%f1, %%f1;\n");
    else
        say(p, "add.f32 %%f1, %%f1, %%f1;\n");
    return part;
}

static struct part *cores(void)
{
    struct part *part = new_part(LINE);
    part->letter = 'C';
    return part;
}

static struct part *make(struct program *p, int depth);

/* @%p0 bra X; A; bra Y; X: B; Y: with the jumps' letters in the tree. */
static struct part *either(struct program *p, int depth)
{
    unsigned label = p->labels++;
    struct part *whole = new_part(SEQUENCE), *choice = new_part(EITHER);
    struct part *left = new_part(SEQUENCE);
    say(p, "@%%p0 bra X%u;\n", label);
    left->parts[left->count++] = make(p, depth - 1);
    left->parts[left->count++] = cores();
    say(p, "bra Y%u;\nX%u:\n", label, label);
    choice->parts[choice->count++] = left;
    choice->parts[choice->count++] = make(p, depth - 1);
    say(p, "Y%u:\n", label);
    whole->parts[whole->count++] = cores();
    whole->parts[whole->count++] = choice;
    return whole;
}

/* A loop that is tested at its end: by a counter of its own, or by who knows what, with a bound. */
static struct part *loop(struct program *p, int depth)
{
    unsigned label = p->labels++, times = 1 + (unsigned)random_below(&p->random, 4);
    bool counts = random_chance(&p->random, 50) && p->counters < 99;
    unsigned counter = counts ? p->counters++ : 0;
    struct part *whole = new_part(SEQUENCE), *round = new_part(LOOP), *body = new_part(SEQUENCE);
    round->times = times;
    if (counts) {
        say(p, "mov.u32 %%c%u, %u;\n", counter, label);
        whole->parts[whole->count++] = cores();
    }
    say(p, "T%u:\n", label);
    body->parts[body->count++] = make(p, depth - 1);
    body->parts[body->count++] = cores();
    if (counts) {
        struct part *steps = new_part(SEQUENCE);
        say(p, "add.u32 %%c%u, %%c%u, 3;\nsetp.lt.u32 %%p1, %%c%u, %u;\n@%%p1 bra T%u;\n", counter,
            counter, counter, label + 3 * times, label);
        steps->parts[steps->count++] = cores();
        steps->parts[steps->count++] = cores();
        body->parts[body->count++] = steps;
    } else {
        say(p, "@%%p0 bra T%u;\n", label);
        REQUIRE(p->loop_count < 64);
        snprintf(p->names[p->loop_count], sizeof p->names[0], "T%u", label);
        p->loops[p->loop_count] = (gordian_ptx_named){p->names[p->loop_count], times};
        p->loop_count++;
    }
    round->parts[round->count++] = body;
    whole->parts[whole->count++] = round;
    return whole;
}

static struct part *make(struct program *p, int depth)
{
    struct part *all = new_part(SEQUENCE);
    size_t count = 1 + random_below(&p->random, 3);
    for (size_t i = 0; i < count; i++) {
        uint64_t kind = random_below(&p->random, depth > 0 ? 6 : 3);
        struct part *part = kind < 3   ? line(p, "LCS"[kind])
                            : kind < 5 ? either(p, depth)
                                       : (p->loop_count < 60 ? loop(p, depth) : line(p, 'C'));
        all->parts[all->count++] = part;
    }
    return all;
}

static uint64_t most(const struct part *part, const uint64_t weights[GORDIAN_MAKESPAN_TYPES])
{
    uint64_t sum = 0;
    switch (part->kind) {
    case LINE:
        return weights[part->letter - 'A'];
    case SEQUENCE:
    case LOOP:
        for (size_t i = 0; i < part->count; i++)
            sum += most(part->parts[i], weights);
        return part->kind == LOOP ? sum * part->times : sum;
    case EITHER:
        for (size_t i = 0; i < part->count; i++) {
            uint64_t one = most(part->parts[i], weights);
            sum = one > sum ? one : sum;
        }
        return sum;
    }
    return 0;
}

/* A path at random: rounds up to the bound, any side. */
static size_t play(const struct part *part, struct random *random, char *to, size_t used)
{
    uint64_t rounds = part->kind == LOOP ? 1 + random_below(random, part->times) : 1;
    if (part->kind == LINE) {
        to[used++] = part->letter;
        return used;
    }
    if (part->kind == EITHER)
        return play(part->parts[random_below(random, 2)], random, to, used);
    for (uint64_t r = 0; r < rounds && used < MOST; r++)
        for (size_t i = 0; i < part->count && used < MOST; i++)
            used = play(part->parts[i], random, to, used);
    return used;
}

/* ------------------------------------------------------------------ schedules */

#define WARPS 5

/* A work-conserving schedule with other choices each time: its length. */
static uint64_t schedule(char paths[WARPS][MOST + 8], const size_t lengths[WARPS],
                         const uint64_t units[GORDIAN_MAKESPAN_TYPES], uint64_t sigma,
                         struct random *random)
{
    size_t at[WARPS] = {0};
    uint64_t cycles = 0;
    for (bool more = true; more; cycles++) {
        uint64_t left[GORDIAN_MAKESPAN_TYPES], all = sigma ? sigma : WARPS;
        size_t order[WARPS];
        memcpy(left, units, sizeof left);
        for (size_t w = 0; w < WARPS; w++) {
            size_t other = random_below(random, w + 1);
            order[w] = order[other];
            order[other] = w;
        }
        more = false;
        for (size_t i = 0; i < WARPS; i++) {
            size_t w = order[i];
            if (at[w] == lengths[w])
                continue;
            more = true;
            uint64_t *unit = &left[paths[w][at[w]] - 'A'];
            if (*unit == 0 || all == 0)
                continue;
            --*unit;
            all--;
            at[w]++;
        }
    }
    return cycles - 1;
}

static void check_bound(const struct part *tree, const gordian_ptx_answer *answer,
                        struct random *random)
{
    static char paths[WARPS][MOST + 8];
    uint64_t units[GORDIAN_MAKESPAN_TYPES] = {0}, sigma = random_below(random, 4);
    size_t lengths[WARPS];
    units['L' - 'A'] = 1 + random_below(random, 2);
    units['C' - 'A'] = 1 + random_below(random, 4);
    units['S' - 'A'] = 1;
    uint64_t bound = gordian_ptx_any_path(answer, units, sigma, WARPS);
    for (int i = 0; i < 20; i++) {
        for (size_t w = 0; w < WARPS; w++)
            lengths[w] = play(tree, random, paths[w], 0);
        uint64_t cycles = schedule(paths, lengths, units, sigma, random);
        CHECK_MSG(cycles <= bound, "%llu cycles, bound %llu", (unsigned long long)cycles,
                  (unsigned long long)bound);
    }
}

/* ------------------------------------------------------------------ one program */

static void check_program(uint64_t seed)
{
    static struct program p;
    p = (struct program){.used = 0};
    stored = 0;
    random_seed(&p.random, seed);
    say(&p, ".version 7.0\n.target sm_70\n.entry k()\n{\n.reg .pred %%p<2>; .reg .f32 %%f<2>; "
            ".reg .b64 %%rd<2>; .reg .b32 %%c<100>;\n");
    struct part *tree = new_part(SEQUENCE);
    tree->parts[tree->count++] = make(&p, 1 + (int)random_below(&p.random, DEPTH));
    tree->parts[tree->count++] = cores();
    say(&p, "ret;\n}\n");
    gordian_ptx_question question = {.loops = p.loops, .loop_count = p.loop_count};
    bool weighted = random_chance(&p.random, 30);
    uint64_t weights[GORDIAN_MAKESPAN_TYPES];
    for (size_t i = 0; i < GORDIAN_MAKESPAN_TYPES; i++)
        weights[i] = weighted ? 1 + random_below(&p.random, 3) : 1;
    if (weighted)
        memcpy(question.weights, weights, sizeof weights);
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_status status = ask(p.text, &question, NULL, &ptx, &answer, &error);
    CHECK_MSG(status == GORDIAN_OK, "seed %llu: line %d: %s", (unsigned long long)seed,
              (int)error.line, error.message);
    if (status != GORDIAN_OK)
        return;
    uint64_t longest = most(tree, weights), sum = 0;
    CHECK_MSG(answer.longest == longest, "seed %llu: %llu, not %llu", (unsigned long long)seed,
              (unsigned long long)answer.longest, (unsigned long long)longest);
    for (size_t i = 0; i < answer.count; i++)
        sum += weights[answer.letters[i] - 'A'];
    CHECK_MSG(!answer.letters || sum == longest, "seed %llu: the string has %llu, not %llu",
              (unsigned long long)seed, (unsigned long long)sum, (unsigned long long)longest);
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        uint64_t only[GORDIAN_MAKESPAN_TYPES] = {0};
        only[letter - 'A'] = 1;
        CHECK_MSG(answer.most[letter - 'A'] == most(tree, only), "seed %llu: %c",
                  (unsigned long long)seed, letter);
    }
    if (!weighted)
        check_bound(tree, &answer, &p.random);
    gordian_ptx_close(ptx);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= test_scaled(2000); seed++)
        check_program(seed);
    return test_done();
}
