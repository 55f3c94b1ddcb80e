#include "inspect/expert.h"

/* A futex that nobody knows: anybody may wake it. */
static bool explain_futex(struct sight *sight, uint32_t thread)
{
    struct sight_thread *waiter = &sight->threads[thread];
    if (!waiter->sleeps || waiter->call.kind != CALL_FUTEX)
        return false;
    uint32_t lock = sight_lock(sight, waiter->process, waiter->call.address, INCIDENT_FUTEX);
    sight_wait(sight, thread, lock, INCIDENT_SIGNAL);
    waiter->unknown =
        "sleeps on a word in memory that is none of glibc's locks: who is to wake it is "
        "not written anywhere; a program of glibc started under 'gordian run', or "
        "symbols of the program, may tell more";
    return true;
}

static const struct expert expert_futex = {.name = "futex", .explain = explain_futex};

/* The more particular first. */
static const struct expert *const experts[] = {
    &expert_python, &expert_rust,     &expert_between,  &expert_ipc,
    &expert_glibc,  &expert_stdio,    &expert_malloc,   &expert_futex,
    &expert_spin,   &expert_evidence, &expert_runtimes,
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
