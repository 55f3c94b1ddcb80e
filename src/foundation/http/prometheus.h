/* The Prometheus text format, version 0.0.4. A family has one HELP line, one TYPE line, and then
 * all its samples. */
#pragma once

#include "foundation/base/io/output.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

void prometheus_family(struct output *out, const char *name, const char *type, const char *help);
/* Families with one sample. */
void prometheus_gauge(struct output *out, const char *name, const char *help, double value);
void prometheus_counter(struct output *out, const char *name, const char *help, uint64_t value);
/* buckets[0..count]: not cumulated, the last one without a bound. `sum` and the bounds are in
 * seconds. */
void prometheus_histogram(struct output *out, const char *name, const char *help,
                          const uint64_t *buckets, size_t count, double (*bound)(size_t bucket),
                          double sum);
/* Writes name="value" with the value escaped. */
void prometheus_label(struct output *out, const char *name, const char *value);
