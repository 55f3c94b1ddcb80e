#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/process_snapshot.h"

/* Specific decoders precede general ones. */
static const struct decoder *const decoders[] = {
    &decoder_watcher, &decoder_python, &decoder_rust,     &decoder_between,
    &decoder_ipc,     &decoder_glibc,  &decoder_stdio,    &decoder_malloc,
    &decoder_futex,   &decoder_spin,   &decoder_evidence, &decoder_runtimes,
};

#define DECODERS (sizeof decoders / sizeof *decoders)

void decoders_explain(struct process_snapshot *snapshot)
{
    mpi_explain(snapshot);
    for (uint32_t thread = 0; thread < snapshot_thread_count(snapshot) && !snapshot->failed;
         thread++)
        for (size_t i = 0; i < DECODERS && snapshot_thread(snapshot, thread)->wait == SNAPSHOT_NONE;
             i++)
            if (decoders[i]->explain && decoders[i]->explain(snapshot, thread))
                break;
    for (size_t i = 0; i < DECODERS && !snapshot->failed; i++)
        if (decoders[i]->finish)
            decoders[i]->finish(snapshot);
}

void decoders_settle(struct process_snapshot *snapshot)
{
    mpi_settle(snapshot);
    for (size_t i = 0; i < DECODERS && !snapshot->failed; i++)
        if (decoders[i]->settle)
            decoders[i]->settle(snapshot);
}

void decoders_lines(struct process_snapshot *snapshot, uint32_t thread)
{
    for (size_t i = 0; i < DECODERS && !snapshot->failed; i++)
        if (decoders[i]->lines)
            decoders[i]->lines(snapshot, thread);
}
