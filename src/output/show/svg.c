/* Writes the wait-for graph as an SVG: a cycle as a ring, anything else as two columns with the
 * parties on the left and the resources on the right. */
#include "output/show/picture.h"
#include "output/show/style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN     40
#define TITLE      60
#define NODE_HIGH  44
#define LETTER     8.2 /* approximate width of a letter */
#define NODE_LEAST 110
#define COLUMN_GAP 420
#define ROW_GAP    84
/* Small letters on a line, with a halo that keeps them readable. */
#define HALO                                                                                       \
    "text-anchor=\"middle\" font-size=\"11\" stroke=\"#fff\" stroke-width=\"4\" "                  \
    "paint-order=\"stroke\" "

struct place {
    double x, y, width;
};

struct canvas {
    const struct picture *picture;
    struct place *places; /* positions of the nodes */
    double width, height;
};

/* ------------------------------------------------------------------ places */

static void measure_nodes(struct canvas *canvas)
{
    const struct picture *picture = canvas->picture;
    for (size_t i = 0; i < picture->node_count; i++) {
        size_t name = strlen(picture->nodes[i].name), kind = strlen(picture->nodes[i].kind);
        double width = LETTER * (double)(name > kind ? name : kind) + 24;
        canvas->places[i].width = width > NODE_LEAST ? width : NODE_LEAST;
    }
}

static double widest_label(const struct canvas *canvas, bool locks)
{
    double most = NODE_LEAST;
    const struct picture *picture = canvas->picture;
    for (size_t i = 0; i < picture->node_count; i++)
        if (picture->nodes[i].drawn && picture->nodes[i].lock == locks)
            most = fmax(most, canvas->places[i].width);
    return most;
}

/* Places the nodes clockwise from the top, in the order of the arrows. */
static void place_ring(struct canvas *canvas)
{
    const struct picture *picture = canvas->picture;
    double count = (double)picture->arrow_count;
    double wide = fmax(widest_label(canvas, false), widest_label(canvas, true));
    double across = fmax(fmax(150, wide), (wide + 70) * count / 5.2);
    double down = fmax(130, ROW_GAP * count / 4.2);
    double x = MARGIN + wide / 2 + across, y = TITLE + MARGIN + NODE_HIGH + down;
    for (size_t i = 0; i < picture->arrow_count; i++) {
        double angle = 2 * M_PI * (double)i / count;
        struct place *node = &canvas->places[picture->arrows[i].from];
        node->x = x + across * sin(angle);
        node->y = y - down * cos(angle);
    }
    canvas->width = 2 * x;
    canvas->height = y + down + NODE_HIGH + MARGIN;
}

static void place_columns(struct canvas *canvas)
{
    double rows[2] = {0, 0};
    double left = MARGIN + widest_label(canvas, false) / 2;
    double right = left + COLUMN_GAP + widest_label(canvas, true) / 2;
    for (size_t i = 0; i < canvas->picture->node_count; i++) {
        bool lock = canvas->picture->nodes[i].lock;
        if (!canvas->picture->nodes[i].drawn)
            continue;
        canvas->places[i].x = lock ? right : left;
        canvas->places[i].y = TITLE + MARGIN + NODE_HIGH + ROW_GAP * rows[lock]++;
    }
    canvas->width = right + widest_label(canvas, true) / 2 + MARGIN;
    canvas->height = TITLE + MARGIN + NODE_HIGH + ROW_GAP * fmax(fmax(rows[0], rows[1]), 1);
}

/* ------------------------------------------------------------------ drawing */

/* Returns the point where the line from a node's centre to (x, y) leaves its box. */
static void leave_node(const struct place *node, double x, double y, double *at_x, double *at_y)
{
    double dx = x - node->x, dy = y - node->y;
    double scale_x = dx != 0 ? (node->width / 2 + 4) / fabs(dx) : INFINITY;
    double scale_y = dy != 0 ? (NODE_HIGH / 2.0 + 4) / fabs(dy) : INFINITY;
    double scale = fmin(fmin(scale_x, scale_y), 1);
    *at_x = node->x + dx * scale;
    *at_y = node->y + dy * scale;
}

static void draw_arrow(const struct canvas *canvas, const struct picture_arrow *arrow,
                       struct output *out)
{
    const struct place *from = &canvas->places[arrow->from], *to = &canvas->places[arrow->to];
    const char *colour = arrow->waits ? "#c0392b" : "#34495e";
    double dx = to->x - from->x, dy = to->y - from->y;
    double length = fmax(hypot(dx, dy), 1);
    /* A slight bend to the left separates two opposite arrows. */
    double bend = 26;
    double x = (from->x + to->x) / 2 + dy / length * bend;
    double y = (from->y + to->y) / 2 - dx / length * bend;
    double x1, y1, x2, y2;
    leave_node(from, x, y, &x1, &y1);
    leave_node(to, x, y, &x2, &y2);
    output_format(out,
                  "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" "
                  "stroke-width=\"2\" marker-end=\"url(#%s)\"/>\n",
                  x1, y1, x, y, x2, y2, colour, arrow->waits ? "red" : "grey");
    output_format(out, "<text x=\"%.1f\" y=\"%.1f\" " HALO "fill=\"%s\">%s</text>\n", x, y - 2,
                  colour, arrow->word);
    if (*arrow->place) {
        output_format(out, "<text x=\"%.1f\" y=\"%.1f\" " HALO "fill=\"#555\">", x, y + 11);
        style_xml(out, arrow->place);
        output_text(out, "</text>\n");
    }
}

static void draw_node(const struct canvas *canvas, size_t index, struct output *out)
{
    const struct place *node = &canvas->places[index];
    bool lock = canvas->picture->nodes[index].lock, blamed = canvas->picture->nodes[index].blamed;
    output_format(out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%d\" "
                  "fill=\"%s\" stroke=\"%s\"/>\n",
                  node->x - node->width / 2, node->y - NODE_HIGH / 2.0, node->width, NODE_HIGH,
                  lock ? NODE_HIGH / 2 : 6,
                  lock     ? "#fff3cd"
                  : blamed ? "#f5b7b1"
                           : "#d6eaf8",
                  lock ? "#b7950b" : "#2471a3");
    output_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-weight=\"bold\">",
                  node->x, node->y - 3);
    style_xml(out, canvas->picture->nodes[index].name);
    output_format(out,
                  "</text>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\" "
                  "fill=\"#555\">",
                  node->x, node->y + 13);
    style_xml(out, canvas->picture->nodes[index].kind);
    output_text(out, "</text>\n");
}

static void draw_head(const struct canvas *canvas, struct output *out)
{
    const char *title = canvas->picture->title;
    double width = fmax(canvas->width, LETTER * (double)strlen(title) + 2 * MARGIN);
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"sans-serif\" font-size=\"14\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<defs>\n",
                  width, canvas->height);
    for (int i = 0; i < 2; i++)
        output_format(out,
                      "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
                      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
                      "<path d=\"M0 0L10 5L0 10z\" fill=\"%s\"/></marker>\n",
                      i ? "grey" : "red", i ? "#34495e" : "#c0392b");
    output_format(out, "</defs>\n<text x=\"%d\" y=\"%d\" font-size=\"16\">", MARGIN, 34);
    style_xml(out, title);
    output_text(out, "</text>\n");
}

void picture_svg(const struct picture *picture, struct output *out)
{
    struct canvas canvas = {.picture = picture};
    if (picture->failed)
        return;
    canvas.places = calloc(picture->node_count + 1, sizeof *canvas.places);
    if (!canvas.places)
        return;
    measure_nodes(&canvas);
    if (picture->cycle && picture->arrow_count)
        place_ring(&canvas);
    else
        place_columns(&canvas);
    draw_head(&canvas, out);
    for (size_t i = 0; i < picture->arrow_count; i++)
        draw_arrow(&canvas, &picture->arrows[i], out);
    for (size_t i = 0; i < picture->node_count; i++)
        if (picture->nodes[i].drawn)
            draw_node(&canvas, i, out);
    output_text(out, "</svg>\n");
    free(canvas.places);
}
