/* The Prometheus text format, version 0.0.4. A family consists of one HELP line, one TYPE line and
 * all its samples. */
#pragma once

#include "foundation/base/io/output.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

void prometheus_family(struct output *out, const char *name, const char *type, const char *help);
/* Write a family with one sample. */
void prometheus_value(struct output *out, const char *name, const char *type, const char *help,
                      double value);
void prometheus_gauge(struct output *out, const char *name, const char *help, double value);
void prometheus_counter(struct output *out, const char *name, const char *help, uint64_t value);
/* buckets[0..count]: the count of each bucket alone; the last one has no bound. `sum` and the
 * bounds are in seconds. */
void prometheus_histogram(struct output *out, const char *name, const char *help,
                          const uint64_t *buckets, size_t count, double (*bound)(size_t bucket),
                          double sum);
/* Writes name="value" and escapes the value. */
void prometheus_label(struct output *out, const char *name, const char *value);
