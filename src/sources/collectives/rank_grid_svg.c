/* Draws a training job as a grid of ranks and kinds of groups: the current operation of each, with
 * the blamed ranks highlighted. */
#include "output/show/style.h"
#include "sources/collectives/training.h"

#define ROW        18
#define COLUMN     150
#define LEFT       110
#define TOP        96
#define ROWS_MOST  1000 /* most ranks drawn, all blamed ranks included */
#define KINDS_MOST 64

/* A column is a kind of group, by its description: ranks belong to different groups of one kind. */
struct grid {
    const struct training *job;
    struct output *out;
    uint32_t kinds[KINDS_MOST]; /* text ids */
    size_t kind_count;
};

static uint32_t kind_of(const struct training *job, uint32_t group)
{
    return job->groups[group].about ? job->groups[group].about : job->groups[group].name;
}

static size_t find_kind(const struct grid *grid, uint32_t kind)
{
    size_t i = 0;
    while (i < grid->kind_count && grid->kinds[i] != kind)
        i++;
    return i;
}

static void draw_kinds(const struct grid *grid)
{
    for (size_t i = 0; i < grid->kind_count; i++) {
        output_format(grid->out, "<text x=\"%zu\" y=\"%d\" font-size=\"10\" font-weight=\"bold\">",
                      LEFT + i * COLUMN, TOP - 12);
        char text[24];
        snprintf(text, sizeof text, "%.22s", training_name(grid->job, grid->kinds[i]));
        style_xml(grid->out, text);
        output_text(grid->out, "</text>\n");
    }
}

/* Returns the first operation in flight of a rank in a group, or NULL. */
static const struct operation *seat_front(const struct rank *rank,
                                          const struct membership *membership)
{
    const struct operation *front = NULL;
    for (uint32_t i = 0; i < membership->count; i++) {
        const struct operation *operation = &rank->operations[membership->first + i];
        if (in_flight(operation) && (!front || operation->record < front->record))
            front = operation;
    }
    return front;
}

static void draw_front(const struct grid *grid, const struct rank *rank,
                       const struct membership *membership, double y)
{
    const struct operation *front = seat_front(rank, membership);
    size_t kind = find_kind(grid, kind_of(grid->job, membership->group));
    if (!front || kind == grid->kind_count)
        return;
    bool oldest = front->order == rank->oldest;
    output_format(grid->out,
                  "<rect x=\"%zu\" y=\"%.0f\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                  "stroke=\"#b7950b\"/>\n<text x=\"%zu\" y=\"%.0f\" font-size=\"9\">",
                  LEFT + kind * COLUMN, y, COLUMN - 8, ROW - 3, oldest ? "#f9e79f" : "#fef9e7",
                  LEFT + kind * COLUMN + 4, y + 11);
    char text[40];
    snprintf(text, sizeof text, "%.14s #%llu", training_name(grid->job, front->name),
             (unsigned long long)front->sequence);
    style_xml(grid->out, text);
    output_text(grid->out, "</text>\n");
}

static void draw_rank(const struct grid *grid, uint32_t index, size_t row)
{
    const struct rank *rank = &grid->job->ranks[index];
    double y = TOP + (double)row * ROW;
    bool bad = rank->blame != BLAME_NONE;
    output_format(grid->out,
                  "<rect x=\"8\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\"/>\n"
                  "<text x=\"14\" y=\"%.0f\" font-size=\"10\"%s>rank %u%s%s</text>\n",
                  y, LEFT - 16, ROW - 3,
                  bad                ? "#e6b0aa"
                  : rank->deadlocked ? "#f5cba7"
                                     : "#d6eaf8",
                  y + 11, bad ? " font-weight=\"bold\"" : "", index, bad ? " " : "",
                  bad ? blame_text((enum blame)rank->blame) : "");
    for (uint32_t i = 0; i < rank->membership_count; i++)
        draw_front(grid, rank, &rank->memberships[i], y);
}

/* Draws all blamed ranks, and others up to the limit. */
static bool is_drawn(const struct training *job, uint32_t rank, size_t *room)
{
    if (!job->ranks[rank].listed)
        return false;
    if (job->ranks[rank].blame != BLAME_NONE)
        return true;
    return *room > 0 && (*room)--;
}

void training_svg(const struct training *job, struct output *out)
{
    struct grid grid = {.job = job, .out = out};
    size_t culprits = job->verdict.culprit_count, ranks = job->verdict.rank_count;
    size_t room = culprits < ROWS_MOST ? ROWS_MOST - culprits : 0;
    size_t rows = ranks - culprits < room ? ranks : culprits + room;
    /* list the kinds with operations in flight */
    for (size_t i = 0; i < grid.job->rendezvous_count; i++) {
        uint32_t kind = kind_of(grid.job, grid.job->rendezvous_list[i].group);
        if (grid.kind_count < KINDS_MOST && find_kind(&grid, kind) == grid.kind_count)
            grid.kinds[grid.kind_count++] = kind;
    }
    output_format(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
                  "font-family=\"sans-serif\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                  "<text x=\"8\" y=\"28\" font-size=\"16\">%zu rank%s, %zu to blame, %zu cycle%s"
                  "</text>\n<text x=\"8\" y=\"50\" font-size=\"11\" fill=\"#555\">The front of "
                  "every rank in every kind of group; darker: what it is in first%s</text>\n",
                  LEFT + (grid.kind_count ? grid.kind_count : 3) * COLUMN + 20,
                  TOP + rows * ROW + 20, ranks, ranks == 1 ? "" : "s", culprits, job->cycle_count,
                  job->cycle_count == 1 ? "" : "s",
                  rows < ranks ? "; some ranks are left out" : "");
    draw_kinds(&grid);
    size_t row = 0;
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_drawn(job, r, &room))
            draw_rank(&grid, r, row++);
    output_text(out, "</svg>\n");
}
