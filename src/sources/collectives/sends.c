/* Senders: ranks that are in nothing but sends to which their receivers have not come: the receive
 * was not posted, or the receiver has something else to do before it.
 *
 * NCCL gives no promise that a send completes before its receive is posted: the message goes into a
 * buffer, and what the buffer does not hold waits for the receiver. The host goes on all the same,
 * unless the program makes it wait. So a rank with such a send, to which others wait for another
 * operation, either waits for its receiver or has stopped for a reason of its own. Dumps do not say
 * which. It is decided like this:
 *
 * 1. Its receiver is to blame, or is a sender that waits for one that is: the sender waits.
 * 2. The message is larger than EAGER_MOST and somebody to blame is behind what the receiver waits
 *    for: the sender waits.
 * 3. Senders send such large messages to each other, all around: a cycle.
 * 4. Everything behind its sends leads back to itself: it has stopped, and is absent. */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"

/* The eager size: up to here NCCL may complete a send into its buffers. With the default of
 * NCCL_BUFFSIZE, 4 MiB in 8 steps, two sends of 512 KiB were seen to complete before a receive, a
 * third not (NVIDIA/nccl issue 544). */
#define EAGER_MOST (1u << 20)

static unsigned type_size(const char *type)
{
    static const struct {
        const char *name;
        unsigned size;
    } types[] = {
        {"Float", 4},  {"BFloat16", 2},       {"Half", 2},         {"Double", 8}, {"Long", 8},
        {"Int", 4},    {"Short", 2},          {"ComplexFloat", 8}, {"UInt16", 2}, {"UInt32", 4},
        {"UInt64", 8}, {"ComplexDouble", 16}, {"ComplexHalf", 4},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].size;
    return 1; /* bytes, booleans, eight bits; or not known */
}

bool send_is_large(const struct training *job, const struct operation *send)
{
    return send->input > EAGER_MOST / type_size(training_name(job, send->type));
}

static bool is_large(const struct training *job, const struct meeting *send)
{
    return send_is_large(job, flight_operation(job, &job->flights[send->first]));
}

static struct rank *send_rank(const struct training *job, const struct meeting *send)
{
    return &job->ranks[job->flights[send->first].rank];
}

static const struct rank *receive_rank(const struct training *job, const struct meeting *send)
{
    return &job->ranks[send->peer];
}

bool find_senders(struct training *job)
{
    bool any = false;
    for (size_t i = 0; i < job->meeting_count; i++) {
        const struct meeting *meeting = &job->meetings[i];
        /* May the send hold up its rank? Not one that a buffer holds, to a receiver that is in
         * something else. */
        if (!meeting->unreceived || send_rank(job, meeting)->engaged ||
            !(meeting->unreceived &&
              (is_large(job, meeting) || !receive_rank(job, meeting)->engaged)))
            continue;
        send_rank(job, meeting)->sender = any = true;
    }
    return any;
}

/* Senders that only wait for each other, with messages that no buffer holds: all that are left when
 * those that wait for something else are taken away, one after the other. */
static void find_crosswise(struct training *job)
{
    for (size_t r = 0; r < job->rank_count; r++)
        job->ranks[r].explained = job->ranks[r].sender && job->ranks[r].deadlocked;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < job->meeting_count; i++) {
            const struct meeting *meeting = &job->meetings[i];
            if (!meeting->unreceived || !send_rank(job, meeting)->explained ||
                (is_large(job, meeting) && receive_rank(job, meeting)->explained))
                continue;
            send_rank(job, meeting)->explained = false;
            changed = true;
        }
    }
}

/* Those that nothing explains. Those for whom only other senders wait are not accused. */
static void accuse_senders(struct training *job)
{
    for (uint32_t i = 0; i < job->meeting_count; i++) {
        const struct meeting *meeting = &job->meetings[i];
        for (uint32_t j = 0; !meeting->unreceived && j < meeting->missing_count; j++) {
            uint32_t rank = job->late[meeting->late_first + j];
            if (job->ranks[rank].sender && job->ranks[rank].deadlocked)
                accuse_rank(job, rank, BLAME_ABSENT, i);
        }
    }
}

gordian_status training_settle_senders(struct training *job, gordian_error *error)
{
    TRY(training_find_deadlocked(job, error));
    find_crosswise(job);
    TRY(training_find_deadlocked(job, error));
    accuse_senders(job);
    for (size_t r = 0; r < job->rank_count; r++) {
        struct rank *rank = &job->ranks[r];
        bool small = rank->sender && rank->deadlocked && !rank->explained;
        rank->sender &= !small && rank->blame == BLAME_NONE;
        rank->explained = rank->deadlocked = false;
    }
    return GORDIAN_OK;
}
