/*
 * Composes many automata: pairwise products in iterations, each of which halves their number. Also
 * computes the rows of the result that a rank is responsible for.
 *
 * A first pass goes from the last product down to the factors and finds the rows needed of each.
 * Then
 * the products are computed in the order of the iterations.
 */
#include "lab/published/compose/product.h"

#include "foundation/base/error.h"

/* A factor or a product of the tree. */
struct node {
    uint32_t left, right; /* of a product: its factors */
    uint32_t states;
    uint32_t first, rows; /* rows that are needed */
    struct product_matrix matrix;
};

struct tree {
    const struct product_place *place;
    const struct product_factor *factors;
    size_t count; /* factors, which are the first nodes */
    struct node *nodes;
    size_t made; /* nodes in total */
};

gordian_status product_states(const struct product_factor *factors, size_t count, uint32_t *states,
                              gordian_error *error)
{
    uint64_t product = 1;
    for (size_t i = 0; i < count && product <= UINT32_MAX; i++)
        product *= factors[i].states;
    *states = (uint32_t)product;
    if (product > UINT32_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "the matrix of the product would have more than 2^32 rows");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ planning */

/* Plans an iteration: joins neighbours; a last one without a neighbour stays. Returns how many
 * remain. */
static size_t pair_up_matrices(struct tree *tree, uint32_t *level, size_t count)
{
    size_t next = 0;
    for (size_t i = 0; i + 1 < count; i += 2) {
        struct node *node = &tree->nodes[tree->made];
        *node = (struct node){.left = level[i], .right = level[i + 1]};
        node->states = tree->nodes[node->left].states * tree->nodes[node->right].states;
        level[next++] = (uint32_t)tree->made++;
    }
    if (count % 2 == 1)
        level[next++] = level[count - 1];
    return next;
}

/* Adds the rows of both factors that a product's rows need. */
static void pass_down(struct tree *tree, const struct node *node)
{
    struct node *left = &tree->nodes[node->left], *right = &tree->nodes[node->right];
    uint32_t last = node->first + node->rows - 1;
    left->first = node->first / right->states;
    left->rows = last / right->states - left->first + 1;
    right->first = left->rows == 1 ? node->first % right->states : 0;
    right->rows = left->rows == 1 ? node->rows : right->states;
}

static gordian_status plan_tree(struct tree *tree, uint32_t first, uint32_t rows,
                                gordian_error *error)
{
    const gordian_allocator *memory = &tree->place->memory;
    uint32_t *level = memory_alloc(memory, tree->count * sizeof *level);
    tree->nodes = memory_zeroed(memory, 2 * tree->count * sizeof *tree->nodes);
    if (!level || !tree->nodes) {
        memory_free(memory, level);
        return fail_memory(error);
    }
    for (; tree->made < tree->count; tree->made++) {
        level[tree->made] = (uint32_t)tree->made;
        tree->nodes[tree->made].states = tree->factors[tree->made].states;
    }
    for (size_t left = tree->count; left > 1;)
        left = pair_up_matrices(tree, level, left);
    tree->nodes[tree->made - 1].first = first;
    tree->nodes[tree->made - 1].rows = rows;
    for (size_t i = tree->made; i-- > tree->count;)
        pass_down(tree, &tree->nodes[i]);
    memory_free(memory, level);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ making */

/* Allocates only as much as the fullest cell needs, although each cell might have more. */
static gordian_status make_pair_product(struct tree *tree, struct node *node, gordian_error *error)
{
    const struct product_place *place = tree->place;
    struct node *left = &tree->nodes[node->left], *right = &tree->nodes[node->right];
    uint64_t transitions;
    gordian_status status = product_make(place, &left->matrix, &right->matrix, node->first,
                                         node->rows, &node->matrix, error);
    THEN(status, product_fill(place, &left->matrix, &right->matrix, &node->matrix, error));
    if (status == GORDIAN_OK && node->matrix.slots > 1)
        status = product_survey(place, &node->matrix, &transitions, error);
    product_free(place, &left->matrix);
    product_free(place, &right->matrix);
    return status;
}

static gordian_status make_all(struct tree *tree, gordian_error *error)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct node *node = &tree->nodes[i];
        TRY(product_load(tree->place, &tree->factors[i], node->first, node->rows, &node->matrix,
                         error));
    }
    for (size_t i = tree->count; i < tree->made; i++)
        TRY(make_pair_product(tree, &tree->nodes[i], error));
    return GORDIAN_OK;
}

gordian_status product_tree(const struct product_place *place, const struct product_factor *factors,
                            size_t count, uint32_t first, uint32_t rows,
                            struct product_matrix *product, gordian_error *error)
{
    struct tree tree = {.place = place, .factors = factors, .count = count};
    uint32_t states;
    *product = (struct product_matrix){0};
    gordian_status status = product_states(factors, count, &states, error);
    THEN(status, plan_tree(&tree, first, rows, error));
    THEN(status, make_all(&tree, error));
    if (status == GORDIAN_OK) {
        *product = tree.nodes[tree.made - 1].matrix;
        tree.nodes[tree.made - 1].matrix.cells = 0;
    }
    for (size_t i = 0; i < tree.made; i++)
        product_free(place, &tree.nodes[i].matrix);
    memory_free(&place->memory, tree.nodes);
    return status;
}

/* ------------------------------------------------------------------ ranks */

struct product_part product_part(uint32_t states, uint32_t rank, uint32_t ranks)
{
    uint32_t first = (uint32_t)((uint64_t)states * rank / ranks);
    uint32_t end = (uint32_t)((uint64_t)states * (rank + 1) / ranks);
    return (struct product_part){first, end - first};
}

gordian_status product_count_part(const struct product_place *place,
                                  const struct product_factor *factors, size_t count, uint32_t rank,
                                  uint32_t ranks, uint64_t *transitions, gordian_error *error)
{
    struct product_matrix product;
    uint32_t states;
    *transitions = 0;
    TRY(product_states(factors, count, &states, error));
    struct product_part part = product_part(states, rank, ranks);
    if (part.rows == 0)
        return GORDIAN_OK;
    gordian_status status =
        product_tree(place, factors, count, part.first, part.rows, &product, error);
    THEN(status, product_survey(place, &product, transitions, error));
    product_free(place, &product);
    *transitions -= status == GORDIAN_OK ? part.rows : 0;
    return status;
}
