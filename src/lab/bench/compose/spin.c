/* SPIN on the same circuit or, for the chain, in its fastest form: one process, one word of state,
 * one step for each indivisible firing, breadth first, no reduction (states are counted), the
 * verifier compiled with our options. */
#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/compose/compose.h"
#include "lab/bench/harness/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the model */

static bool write_promela_chain(FILE *model, uint32_t size)
{
    fprintf(model, "unsigned s : %u;\nactive proctype chain() {\n    do\n", size);
    fprintf(model, "    :: d_step { !(s & 1) -> s = s | 1 }\n");
    for (uint32_t i = 0; i + 1 < size; i++)
        fprintf(model, "    :: d_step { (s & %u) == %u -> s = s ^ %u }\n", 3u << i, 1u << i,
                3u << i);
    return fprintf(model, "    :: d_step { s & %u -> s = s ^ %u }\n    od\n}\n", 1u << (size - 1),
                   1u << (size - 1)) > 0;
}

/* Writes the model of a circuit, or of a chain. */
static bool write_promela_model(const char *folder, const gordian_circuit *circuit, uint32_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/model.pml", folder);
    FILE *model = fopen(path, "we");
    if (!model)
        return false;
    int fd = fileno(model);
    gordian_writer writer = gordian_writer_fd(&fd);
    bool written = circuit ? gordian_circuit_write(circuit, GORDIAN_FORMAT_PROMELA, &writer,
                                                   NULL) == GORDIAN_OK
                           : write_promela_chain(model, size);
    return fclose(model) == 0 && written;
}

void spin_close(struct spin *spin)
{
    temporary_remove(spin->folder);
    spin->folder[0] = '\0';
}

static bool open_spin_model(struct spin *spin, const gordian_circuit *circuit, uint32_t size)
{
    static const char *const translate[] = {"spin", "-a", "model.pml", NULL};
    static const char *const compile[] = {
        "cc", "-O3", "-w",    "-DSAFETY", "-DNOREDUCE", "-DBFS", "-DMEMLIM=16000",
        "-o", "pan", "pan.c", NULL};
    char output[512];
    *spin = (struct spin){.why = "cannot make a folder for SPIN"};
    if (temporary_folder("gordian-spin", spin->folder, sizeof spin->folder, NULL) != GORDIAN_OK)
        return false;
    if (!write_promela_model(spin->folder, circuit, size) ||
        child_status(spin->folder, translate, output, sizeof output) != 0)
        spin->why = "SPIN is not installed";
    else if (child_status(spin->folder, compile, output, sizeof output) != 0)
        spin->why = "there is no C compiler for SPIN's verifier";
    else
        return true;
    spin_close(spin);
    return false;
}

bool spin_open(struct spin *spin, uint32_t size)
{
    *spin = (struct spin){.why = "the chain is too long for SPIN's words"};
    return size <= 30 && open_spin_model(spin, NULL, size);
}

bool spin_open_circuit(struct spin *spin, const gordian_circuit *circuit)
{
    return open_spin_model(spin, circuit, 0);
}

/* Returns the number before a phrase of SPIN's report; 0: not found. */
static double spin_number_before(const char *text, const char *phrase)
{
    const char *at = strstr(text, phrase);
    if (!at)
        return 0;
    while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    while (at > text && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return strtod(at, NULL);
}

gordian_status spin_run(void *context, double *ns, gordian_error *error)
{
    static const char *const verify[] = {"./pan", "-w22", "-c0",
                                         NULL}; /* do not stop at deadlocks */
    struct spin *spin = context;
    char report[8192];
    uint64_t start = clock_ns();
    if (child_status(spin->folder, verify, report, sizeof report) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "SPIN's verifier failed");
    *ns = (double)(clock_ns() - start);
    const char *elapsed = strstr(report, "elapsed time ");
    double said = elapsed ? strtod(elapsed + strlen("elapsed time "), NULL) : 0;
    if (said >= 0.05) /* SPIN reports hundredths of a second */
        *ns = said * 1e9;
    spin->states = (uint64_t)spin_number_before(report, "states, stored");
    spin->bytes = spin_number_before(report, "total actual memory usage") * 1048576;
    if (spin->states == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "SPIN's verifier did not report its states");
    return GORDIAN_OK;
}
