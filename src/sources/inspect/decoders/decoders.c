#include "sources/inspect/decoders/decoder.h"

/* The more particular first. */
static const struct decoder *const decoders[] = {
    &decoder_watcher, &decoder_python, &decoder_rust,     &decoder_between,
    &decoder_ipc,     &decoder_glibc,  &decoder_stdio,    &decoder_malloc,
    &decoder_futex,   &decoder_spin,   &decoder_evidence, &decoder_runtimes,
};

#define EXPERTS (sizeof decoders / sizeof *decoders)

void decoders_explain(struct sight *sight)
{
    mpi_explain(sight);
    for (uint32_t thread = 0; thread < sight->thread_count && !sight->failed; thread++)
        for (size_t i = 0; i < EXPERTS && sight->threads[thread].wait == SIGHT_NONE; i++)
            if (decoders[i]->explain && decoders[i]->explain(sight, thread))
                break;
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (decoders[i]->finish)
            decoders[i]->finish(sight);
}

void decoders_settle(struct sight *sight)
{
    mpi_settle(sight);
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (decoders[i]->settle)
            decoders[i]->settle(sight);
}

void decoders_lines(struct sight *sight, uint32_t thread)
{
    for (size_t i = 0; i < EXPERTS && !sight->failed; i++)
        if (decoders[i]->lines)
            decoders[i]->lines(sight, thread);
}
