#include "sources/inspect/decoders/decoder.h"

/* The more particular first. */
static const struct expert *const experts[] = {
    &expert_watcher, &expert_python, &expert_rust,     &expert_between,
    &expert_ipc,     &expert_glibc,  &expert_stdio,    &expert_malloc,
    &expert_futex,   &expert_spin,   &expert_evidence, &expert_runtimes,
};

#define EXPERTS (sizeof experts / sizeof *experts)

void experts_explain(struct sight *sight)
{
    mpi_explain(sight);
    for (uint32_t thread = 0; thread < sight->thread_count && !sight->failed; thread++)
        for (size_t i = 0; i < EXPERTS && sight->threads[thread].wait == SIGHT_NONE; i++)
            if (experts[i]->explain && experts[i]->explain(sight, thread))
                break;
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (experts[i]->finish)
            experts[i]->finish(sight);
}

void experts_settle(struct sight *sight)
{
    mpi_settle(sight);
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (experts[i]->settle)
            experts[i]->settle(sight);
}

void experts_lines(struct sight *sight, uint32_t thread)
{
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (experts[i]->lines)
            experts[i]->lines(sight, thread);
}
