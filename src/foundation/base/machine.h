/* Description of the machine, as people would name it. */
#pragma once

#include <stdint.h>

struct machine {
    char system[160]; /* "Linux aarch64" */
    char cpu[160];    /* "AMD EPYC 9554", "Arm Neoverse-V1" */
    unsigned cores;   /* cores that this process may use */
    uint64_t memory;  /* in bytes; 0: unknown */
};

void machine_describe(struct machine *machine);

/* Returns the folder for temporary files: TMPDIR if it is an absolute path, otherwise /tmp. */
const char *machine_temporary(void);
