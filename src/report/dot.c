/* The wait-for graph for Graphviz. */
#include "report/picture.h"

static const char *in_quotes(char c)
{
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

static void write_quoted(struct output *out, const char *text)
{
    style_escaped(out, text, in_quotes);
}

static void dot_node(const struct picture *picture, uint32_t node, struct output *out)
{
    char kind[128];
    bool lock = node_is_lock(picture, node);
    output_format(out, "  n%u [label=\"", node);
    write_quoted(out, node_name(picture, node));
    output_text(out, "\\n");
    write_quoted(out, node_kind(picture, node, kind, sizeof kind));
    output_format(out, "\", shape=%s, style=\"%s\", fillcolor=\"%s\"];\n", lock ? "ellipse" : "box",
                  lock ? "filled" : "filled,rounded", lock ? "#fff3cd" : "#d6eaf8");
}

static bool is_drawn(const struct picture *picture, uint32_t node)
{
    for (size_t i = 0; i < picture->count; i++)
        if (picture->arrows[i].from == node || picture->arrows[i].to == node)
            return true;
    return false;
}

void report_dot(const struct report *report, struct output *out)
{
    struct picture picture;
    char text[300];
    if (!picture_open(&picture, report))
        return;
    report_title(report, text, sizeof text);
    output_text(out, "digraph gordian {\n  label=\"");
    write_quoted(out, text);
    output_text(out, "\";\n  labelloc=t;\n  node [fontname=\"sans-serif\"];\n"
                     "  edge [fontname=\"sans-serif\", fontsize=11];\n");
    for (uint32_t node = 0; node < report->thread_count + report->lock_count; node++)
        if (is_drawn(&picture, node))
            dot_node(&picture, node, out);
    for (size_t i = 0; i < picture.count; i++) {
        const struct arrow *arrow = &picture.arrows[i];
        output_format(out, "  n%u -> n%u [label=\"%s", arrow->from, arrow->to, arrow->word);
        if (*arrow_place(arrow, text, sizeof text)) {
            output_text(out, "\\n");
            write_quoted(out, text);
        }
        output_format(out, "\"%s];\n", arrow->waits ? ", color=\"#c0392b\"" : "");
    }
    output_text(out, "}\n");
    picture_close(&picture);
}
