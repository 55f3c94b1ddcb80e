#include "sources/run/report/mailbox.h"

#include "sources/run/state/arena.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>

static struct incident_mailbox *box; /* the command's mailbox, or one of this process */
static bool is_shared;
static uint32_t turn; /* value of the word while this thread owns the mailbox */

void mailbox_start(struct incident_mailbox *shared)
{
    is_shared = shared;
    box = shared;
}

/* Without a listener, the report of last resort still needs the mailbox. */
static bool make_own(void)
{
    struct incident_mailbox *made = pages_map(sizeof *made + INCIDENT_MAILBOX_ROOM);
    struct incident_mailbox *none = NULL;
    if (made)
        __atomic_compare_exchange_n(&box, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return made;
}

static bool change_word(uint32_t *seen, uint32_t to)
{
    return __atomic_compare_exchange_n(&box->word, seen, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static void wait_word(uint32_t seen, uint64_t nanoseconds)
{
    struct timespec time = sys_timespec(nanoseconds);
    sys_call(SYS_futex, &box->word, FUTEX_WAIT, seen, &time, NULL, 0);
}

static void wake_mailbox(void)
{
    sys_call(SYS_futex, &box->word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

/* Threads use the mailbox in turn. An owner that exceeds the time for an answer counts as dead. */
char *mailbox_claim(size_t *room)
{
    if (!box && !make_own())
        return NULL;
    uint64_t give_up = sys_now() + 2 * INCIDENT_PATIENCE_MS * (uint64_t)1000000;
    for (;;) {
        uint32_t seen = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE);
        uint32_t ours = ((seen >> 2) + 1) << 2 | INCIDENT_BOX_FILLING;
        bool late = sys_now() > give_up;
        if (((seen & 3) == INCIDENT_BOX_FREE || late) && change_word(&seen, ours)) {
            turn = ours;
            *room = INCIDENT_MAILBOX_ROOM;
            return box->data;
        }
        if (late)
            return NULL;
        wait_word(seen, 100000000u);
    }
}

void mailbox_drop(void)
{
    uint32_t seen = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE);
    if (seen >> 2 == turn >> 2 && change_word(&seen, (turn >> 2) << 2 | INCIDENT_BOX_FREE))
        wake_mailbox();
}

const char *mailbox_incident(size_t *size)
{
    const struct incident *header = (const struct incident *)box->data;
    *size = header->total_size < INCIDENT_MAILBOX_ROOM ? header->total_size : 0;
    return box->data;
}

enum incident_answer mailbox_send(void)
{
    uint32_t ready = (turn >> 2) << 2 | INCIDENT_BOX_READY, seen = turn;
    if (!is_shared || !__atomic_load_n(&box->listening, __ATOMIC_ACQUIRE) ||
        !change_word(&seen, ready))
        return INCIDENT_FAILED;
    wake_mailbox();
    uint64_t give_up = sys_now() + INCIDENT_PATIENCE_MS * (uint64_t)1000000;
    for (;;) {
        seen = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE);
        if (seen != ready || sys_now() > give_up)
            break;
        wait_word(seen, 100000000u);
    }
    if ((seen & 3) != INCIDENT_BOX_ANSWERED || seen >> 2 != turn >> 2)
        return INCIDENT_FAILED;
    uint32_t answer = box->answer;
    return answer == INCIDENT_REPORTED || answer == INCIDENT_SUPPRESSED
               ? (enum incident_answer)answer
               : INCIDENT_FAILED;
}
