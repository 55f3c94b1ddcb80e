/* The machine this runs on, as a person would name it. */
#pragma once

#include <stdint.h>

struct machine {
    char system[160]; /* "Linux aarch64" */
    char cpu[160];    /* "AMD EPYC 9554", "Arm Neoverse-V1" */
    unsigned cores;   /* this process may use */
    uint64_t memory;  /* bytes; 0: not known */
};

void machine_describe(struct machine *machine);

/* The folder for temporary files: TMPDIR if it is an absolute path, /tmp otherwise. */
const char *machine_temporary(void);
