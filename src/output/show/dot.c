/* Writes the wait-for graph for Graphviz. */
#include "output/show/picture.h"
#include "output/show/style.h"

static const char *in_quotes(char c)
{
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

static void write_quoted(struct output *out, const char *text)
{
    style_escaped(out, text, in_quotes);
}

static void dot_node(const struct picture *picture, uint32_t number, struct output *out)
{
    const struct picture_node *node = &picture->nodes[number];
    output_format(out, "  n%u [label=\"", number);
    write_quoted(out, node->name);
    output_text(out, "\\n");
    write_quoted(out, node->kind);
    output_format(out, "\", shape=%s, style=\"%s\", fillcolor=\"%s\"];\n",
                  node->lock ? "ellipse" : "box", node->lock ? "filled" : "filled,rounded",
                  node->lock     ? "#fff3cd"
                  : node->blamed ? "#f5b7b1"
                                 : "#d6eaf8");
}

static void dot_arrow(const struct picture_arrow *arrow, struct output *out)
{
    output_format(out, "  n%u -> n%u [label=\"%s", arrow->from, arrow->to, arrow->word);
    if (*arrow->place) {
        output_text(out, "\\n");
        write_quoted(out, arrow->place);
    }
    output_format(out, "\"%s];\n", arrow->waits ? ", color=\"#c0392b\"" : "");
}

void picture_dot(const struct picture *picture, struct output *out)
{
    if (picture->failed)
        return;
    output_text(out, "digraph gordian {\n  label=\"");
    write_quoted(out, picture->title);
    output_text(out, "\";\n  labelloc=t;\n  node [fontname=\"sans-serif\"];\n"
                     "  edge [fontname=\"sans-serif\", fontsize=11];\n");
    for (uint32_t node = 0; node < picture->node_count; node++)
        if (picture->nodes[node].drawn)
            dot_node(picture, node, out);
    for (size_t i = 0; i < picture->arrow_count; i++)
        dot_arrow(&picture->arrows[i], out);
    output_text(out, "}\n");
}
