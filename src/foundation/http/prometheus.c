/* Writes metrics in the Prometheus text format. */
#include "foundation/http/prometheus.h"

#include "foundation/base/json/json_write.h"

void prometheus_family(struct output *out, const char *name, const char *type, const char *help)
{
    output_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_value(struct output *out, const char *name, const char *type, const char *help,
                      double value)
{
    prometheus_family(out, name, type, help);
    output_format(out, "%s %.17g\n", name, value);
}

void prometheus_gauge(struct output *out, const char *name, const char *help, double value)
{
    prometheus_value(out, name, "gauge", help, value);
}

void prometheus_counter(struct output *out, const char *name, const char *help, uint64_t value)
{
    prometheus_family(out, name, "counter", help);
    output_format(out, "%s %llu\n", name, (unsigned long long)value);
}

void prometheus_histogram(struct output *out, const char *name, const char *help,
                          const uint64_t *buckets, size_t count, double (*bound)(size_t bucket),
                          double sum)
{
    uint64_t below = 0;
    prometheus_family(out, name, "histogram", help);
    for (size_t i = 0; i < count; i++) {
        below += buckets[i];
        output_format(out, "%s_bucket{le=\"%g\"} %llu\n", name, bound(i),
                      (unsigned long long)below);
    }
    below += buckets[count];
    output_format(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9f\n%s_count %llu\n", name,
                  (unsigned long long)below, name, sum, name, (unsigned long long)below);
}

void prometheus_label(struct output *out, const char *name, const char *value)
{
    output_format(out, "%s=\"", name);
    for (const unsigned char *c = (const unsigned char *)value; *c;) {
        size_t length = utf8_length(c);
        if (*c == '"' || *c == '\\')
            output_format(out, "\\%c", *c);
        else if (*c == '\n')
            output_text(out, "\\n");
        else if (length > 0)
            output_bytes(out, (const char *)c, length);
        else
            output_text(out, "\xef\xbf\xbd"); /* U+FFFD */
        c += length ? length : 1;
    }
    output_char(out, '"');
}
