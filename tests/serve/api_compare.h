/* Comparing answers of the API: values of JSON, and graphs as numbers. */
#ifndef GORDIAN_TESTS_SERVE_API_COMPARE_H
#define GORDIAN_TESTS_SERVE_API_COMPARE_H

#include "foundation/base/json/value.h"
#include "service/serve/http/api.h"
#include "test.h"

#include <string.h>

#define PROCESSES 40
#define RESOURCES 12

static bool is_false(const struct value *value)
{
    return value_is(value, VALUE_BOOL) && !value->integer;
}

static bool is_equal(const struct value *left, const struct value *right)
{
    if (!left || !right || left->kind != right->kind)
        return false;
    switch (left->kind) {
    case VALUE_TEXT:
        return value_says(left, right->text);
    case VALUE_REAL:
        return memcmp(&left->real, &right->real, sizeof left->real) == 0;
    case VALUE_LIST:
    case VALUE_DICT: {
        uint32_t count = left->kind == VALUE_DICT ? 2 * left->count : left->count;
        bool same = left->count == right->count;
        for (uint32_t i = 0; same && i < count; i++)
            same = is_equal(left->items[i], right->items[i]);
        return same;
    }
    default:
        return left->kind == VALUE_NONE || left->integer == right->integer;
    }
}

/* Units held and waited for: what both sides of every comparison come down to. */
struct matrix {
    int64_t units[2][PROCESSES][RESOURCES]; /* [waits] */
};

static void read_graph(const struct value *graph, struct matrix *matrix)
{
    size_t i;
    const struct value *edge;
    memset(matrix, 0, sizeof *matrix);
    for (i = 0; (edge = value_item(value_find(graph, "edges"), i)) != NULL; i++) {
        int64_t p = value_integer(value_find(edge, "process"), 0);
        int64_t q = value_integer(value_find(edge, "resource"), 0);
        REQUIRE(p < PROCESSES && q < RESOURCES);
        matrix->units[value_is_true(value_find(edge, "waits"))][p][q] +=
            value_integer(value_find(edge, "units"), 0);
    }
}

static void read_truth(struct served *served, struct matrix *matrix)
{
    static const enum served_side sides[] = {SERVED_HELD, SERVED_WANTED};
    const gordian_edge *edges;
    size_t count;
    memset(matrix, 0, sizeof *matrix);
    for (uint32_t p = 0; p < served_process_limit(served); p++)
        for (size_t side = 0; side < 2; side++) {
            REQUIRE(served_edges(served, sides[side], p, &edges, &count, NULL) == GORDIAN_OK);
            for (size_t i = 0; i < count; i++)
                matrix->units[side][p][edges[i].resource] += (int64_t)edges[i].units;
        }
}

static bool is_same(const struct matrix *left, const struct matrix *right)
{
    return memcmp(left, right, sizeof *left) == 0;
}

#endif
