/* Judges senders: ranks whose only operations in flight are sends that their receivers have not
 * reached. The receive was not posted, or the receiver has to do something else first.
 *
 * NCCL does not guarantee that a send completes before its receive is posted: the message goes into
 * a buffer, and the part that does not fit waits for the receiver. The host continues, unless the
 * program makes it wait. So a rank with such a send, for which others wait in another operation,
 * either waits for its receiver or has stopped for another reason. Dumps do not show which. These
 * rules decide:
 *
 * 1. If the receiver is at fault, or is a sender that waits for a rank at fault, the sender waits.
 * 2. If the message is larger than EAGER_MOST, and the receiver is blocked behind a rank at fault,
 * the sender waits.
 * 3. If senders send such large messages to each other in a circle, it is a cycle.
 * 4. If everything that its sends wait for leads back to the sender, it has stopped and is absent.
 */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"

/* Up to this size NCCL may complete a send into its buffers. With the default of NCCL_BUFFSIZE, 4
 * MiB in 8 steps, two sends of 512 KiB completed before a receive, and a third did not (NVIDIA/nccl
 * issue 544). */
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
    return 1; /* bytes, booleans, 8-bit types, and unknown types */
}

bool send_is_large(const struct training *job, const struct operation *send)
{
    return send->input > EAGER_MOST / type_size(training_name(job, send->type));
}

static bool is_large(const struct training *job, const struct rendezvous *send)
{
    return send_is_large(job, flight_operation(job, &job->flights[send->first]));
}

static struct rank *send_rank(const struct training *job, const struct rendezvous *send)
{
    return &job->ranks[job->flights[send->first].rank];
}

static const struct rank *receive_rank(const struct training *job, const struct rendezvous *send)
{
    return &job->ranks[send->peer];
}

bool find_senders(struct training *job)
{
    bool any = false;
    for (size_t i = 0; i < job->rendezvous_count; i++) {
        const struct rendezvous *rendezvous = &job->rendezvous_list[i];
        /* A send whose message fits into the buffer does not block its rank, if the receiver is in
         * another operation. */
        if (!rendezvous->unreceived || send_rank(job, rendezvous)->engaged ||
            !(rendezvous->unreceived &&
              (is_large(job, rendezvous) || !receive_rank(job, rendezvous)->engaged)))
            continue;
        send_rank(job, rendezvous)->sender = any = true;
    }
    return any;
}

/* Finds senders that wait only for each other with messages larger than the buffer. Removes senders
 * that wait for something else until no more can be removed. */
static void find_mutual_senders(struct training *job)
{
    for (size_t r = 0; r < job->rank_count; r++)
        job->ranks[r].explained = job->ranks[r].sender && job->ranks[r].deadlocked;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < job->rendezvous_count; i++) {
            const struct rendezvous *rendezvous = &job->rendezvous_list[i];
            if (!rendezvous->unreceived || !send_rank(job, rendezvous)->explained ||
                (is_large(job, rendezvous) && receive_rank(job, rendezvous)->explained))
                continue;
            send_rank(job, rendezvous)->explained = false;
            changed = true;
        }
    }
}

/* Accuses senders that no rule explains, except those for which only other senders wait. */
static void accuse_senders(struct training *job)
{
    for (uint32_t i = 0; i < job->rendezvous_count; i++) {
        const struct rendezvous *rendezvous = &job->rendezvous_list[i];
        for (uint32_t j = 0; !rendezvous->unreceived && j < rendezvous->missing_count; j++) {
            uint32_t rank = job->late[rendezvous->late_first + j];
            if (job->ranks[rank].sender && job->ranks[rank].deadlocked)
                accuse_rank(job, rank, BLAME_ABSENT, i);
        }
    }
}

gordian_status training_settle_senders(struct training *job, gordian_error *error)
{
    TRY(training_find_deadlocked(job, error));
    find_mutual_senders(job);
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
