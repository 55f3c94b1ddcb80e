/* Ways through frames: what walk_again and walk_anew find is what one finds who goes from frame to
 * frame, whichever way comes next, however it ends, and whatever was remembered. */
#include "sources/run/state/backtrace.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 256, SITES = 6, ROUNDS = 200000 };

static uintptr_t *stack; /* in the frame of main: callers' frames lie above one's own */
static struct thread thread;

static uintptr_t below(uintptr_t limit)
{
    return (uintptr_t)rand() % limit;
}

/* Anything that stands where a link should be: nothing, the same again, downwards, between two
 * words, above the stack. */
static uintptr_t garbage(size_t at)
{
    const uintptr_t choices[] = {0,
                                 (uintptr_t)&stack[at],
                                 (uintptr_t)&stack[below(at + 1)],
                                 (uintptr_t)&stack[at] + 17,
                                 (uintptr_t)&stack[WORDS] + 64,
                                 1};
    return choices[below(sizeof choices / sizeof *choices)];
}

/* A chain of frames from word 0 on, up to the top or to something else. */
static void build(void)
{
    size_t at = 0;
    for (size_t i = 0; i < WORDS; i++)
        stack[i] = 0x400000 + below(1000);
    for (;;) {
        size_t next = at + 2 + below(12);
        if (next + 2 >= WORDS || below(15) == 0)
            break;
        stack[at] = (uintptr_t)&stack[next];
        at = next;
    }
    stack[at] = garbage(at);
}

/* Somebody returns and somebody calls: from one frame on it is another chain, or other callers. */
static void change(void)
{
    size_t at = 0;
    for (uintptr_t steps = below(6); steps--;) {
        uintptr_t next = stack[at];
        if (next <= (uintptr_t)&stack[at] || next >= (uintptr_t)&stack[WORDS - 2] || next % 8)
            break;
        at = (size_t)((uintptr_t *)next - stack);
    }
    if (below(2))
        stack[at + 1] = 0x400000 + below(1000);
    else
        stack[at] = at + 4 < WORDS && below(4) ? (uintptr_t)&stack[at + 2 + below(2)] : garbage(at);
}

static uint32_t walk_plainly(uintptr_t *frames, uint32_t most, struct site caller)
{
    uintptr_t frame = caller.frame, lower = 0;
    uint32_t count = 1;
    frames[0] = caller.caller;
    while (count < most && frame % 8 == 0 && frame > lower && frame >= (uintptr_t)&stack[0] &&
           frame < (uintptr_t)&stack[WORDS - 2]) {
        lower = frame;
        frames[count++] = ((uintptr_t *)frame)[1];
        frame = ((uintptr_t *)frame)[0];
    }
    return count;
}

static void compare(int round, uint32_t most)
{
    uintptr_t plain[INCIDENT_FRAMES], ways[INCIDENT_FRAMES];
    struct site caller = {stack[0], 0x500000 + 4 * below(SITES)};
    uint32_t expected = walk_plainly(plain, most, caller);
    uint32_t count = walk_again(&thread, ways, caller);
    if (count == 0)
        count = walk_anew(&thread, ways, most, caller);
    CHECK_MSG(count == expected && memcmp(plain, ways, count * sizeof *plain) == 0,
              "round %d: %u frames, not %u, or others", round, count, expected);
    CHECK_MSG(walk_again(&thread, ways, caller) == expected, "round %d: not known again", round);
}

int main(void)
{
    uintptr_t room[WORDS];
    stack = room;
    srand(12);
    for (uint32_t most = 2; most <= INCIDENT_FRAMES; most += 7) {
        memset(&thread, 0, sizeof thread);
        thread.stack_low = (uintptr_t)&stack[0] - (1u << 20);
        thread.stack_high = (uintptr_t)&stack[WORDS - 2];
        for (int round = 0; round < ROUNDS; round++) {
            if (below(8) == 0)
                build();
            else
                change();
            compare(round, most);
        }
    }
    return test_done();
}
