/*
 * Measured results and their machines, as JSON objects, one per line.
 *
 *     {"run":1,"system":"Linux x86_64","cpu":"...","cores":16,"device":"NVIDIA H200",...}
 *     {"measure":"detect-cuda-list","x":8192,"y":8192,"value":61.2e6,"p99":...,"samples":5,"run":1}
 *
 * A run is a machine at a time. A value names its run by the run's number in that text. A measure
 * has
 * at most one value per point: the one added last.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "lab/papers/papers.h"

#define RESULTS_TEXT 192

struct results_run {
    char system[RESULTS_TEXT], cpu[RESULTS_TEXT], device[RESULTS_TEXT]; /* device "": none */
    char compiler[RESULTS_TEXT], flags[RESULTS_TEXT], commit[RESULTS_TEXT], date[RESULTS_TEXT];
    unsigned cores;
};

struct results_value {
    char measure[48];
    double x, y;
    double value; /* nanoseconds, or cycles, depending on the measure */
    double p99;
    unsigned samples;
    size_t run;    /* index in `runs` */
    uint64_t line; /* line of the text it was read from; 0: measured in this process */
};

struct results {
    gordian_allocator memory;
    struct results_run *runs;
    size_t run_count, run_capacity;
    struct results_value *values;
    size_t value_count, value_capacity;
};

void results_init(struct results *results);
void results_free(struct results *results);

/* Adds the results of a text. GORDIAN_STATUS_INPUT, with the line. */
gordian_status results_read(struct results *results, const char *text, size_t size,
                            gordian_error *error);
/* Adds the results of a file. `missing_is_fine`: a missing file counts as empty. */
gordian_status results_read_file(struct results *results, const char *path, bool missing_is_fine,
                                 gordian_error *error);
/* Adds the results embedded in the program. */
gordian_status results_read_recorded(struct results *results, gordian_error *error);

/* Begins a run on this machine, now; `device` "": without one. */
gordian_status results_begin_run(struct results *results, const char *device, gordian_error *error);
/* Adds a value of the last run and replaces an older value of the same point. */
gordian_status results_add(struct results *results, const struct results_value *value,
                           gordian_error *error);
/* NULL: it was not measured. */
const struct results_value *results_find(const struct results *results, const char *measure,
                                         double x, double y);

/* Writes the runs that have values, then the values, sorted by measure and point. */
void results_write(struct results *results, struct output *out);
gordian_status results_write_file(struct results *results, const char *path, gordian_error *error);
