/* Solves a guard: enumerates its alternatives. Each is a conjunction of literals, solved by
 * union-find and, for variables that remain open, by backtracking search. */
#include "engines/compose/circuit/guard.h"

#include "engines/compose/circuit/union_find.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define OPEN      UINT32_MAX       /* a value that is not known yet */
#define UNDEFINED (UINT32_MAX - 1) /* the result of a function outside its table */

struct literal {
    uint32_t node;
    bool holds; /* false: the negation of the node */
};

struct literal_list {
    struct literal *list;
    size_t count, room;
};

/* Variables: port p is p, the next value of cell c is ports + c. */
struct solver {
    const struct guard_question *question;
    const struct guard_node *nodes;
    uint32_t variables;
    uint32_t *parent;   /* union-find without path compression, so that a union can be undone */
    uint32_t *value;    /* of a root; OPEN: not known */
    bool *wanted;       /* has a value in a solution: the port fires, or it is a cell */
    bool *is_port;      /* of a root: the class has a port, so it is not null */
    uint32_t *solution; /* by variable */
    struct literal_list pending, literals;
    size_t alternatives, steps;
    gordian_error *error;
};

/* Returns the variable of a term, or GUARD_NONE. */
static uint32_t variable_of(const struct solver *solver, uint32_t term)
{
    const struct guard_node *node = &solver->nodes[term];
    if (node->kind == TERM_PORT)
        return node->symbol;
    return node->kind == TERM_NEXT ? solver->question->ports + node->symbol : GUARD_NONE;
}

static uint32_t evaluate_term(const struct solver *solver, uint32_t term);

static uint32_t compute_term(const struct solver *solver, uint32_t term, int64_t *number);

/* Evaluates arithmetic such as (a + 1) * b. Returns 0, OPEN or UNDEFINED. */
static uint32_t compute_node(const struct solver *solver, const struct guard_node *node,
                             int64_t *number)
{
    const struct function *function = &solver->question->data->functions[node->symbol];
    uint32_t second = solver->nodes[node->left].right;
    int64_t left, right;
    uint32_t one = compute_term(solver, solver->nodes[node->left].left, &left);
    uint32_t other = compute_term(solver, solver->nodes[second].left, &right);
    if (one == UNDEFINED || other == UNDEFINED)
        return UNDEFINED;
    if (one == OPEN || other == OPEN)
        return OPEN;
    return function_compute(function, left, right, number) ? 0 : UNDEFINED;
}

static uint32_t compute_term(const struct solver *solver, uint32_t term, int64_t *number)
{
    const struct guard_node *node = &solver->nodes[term];
    const struct data *data = solver->question->data;
    const char *text;
    if (node->kind == TERM_APPLY && function_is_arithmetic(data->functions[node->symbol].kind))
        return compute_node(solver, node, number);
    if (node->kind == TERM_CONSTANT) {
        text = data_text(data, node->symbol);
    } else {
        uint32_t value = evaluate_term(solver, term);
        if (value == OPEN || value == UNDEFINED || value == VALUE_NULL)
            return value == OPEN ? OPEN : UNDEFINED;
        text = data_value_text(data, value);
    }
    return data_number(text, number) ? 0 : UNDEFINED;
}

/* Applies a function to its arguments. Returns OPEN if an argument is open. */
static uint32_t apply_function(const struct solver *solver, const struct guard_node *node)
{
    const struct data *data = solver->question->data;
    if (node->kind == TERM_APPLY && function_is_arithmetic(data->functions[node->symbol].kind)) {
        int64_t number;
        uint32_t state = compute_node(solver, node, &number);
        uint32_t value = state ? state : data_value_of(data, number);
        return value ? value : UNDEFINED;
    }
    uint32_t arguments[FUNCTION_ARITY];
    uint32_t count = 0;
    for (uint32_t list = node->left; list != GUARD_NONE; list = solver->nodes[list].right) {
        uint32_t value = evaluate_term(solver, solver->nodes[list].left);
        if (value == OPEN || value == UNDEFINED || value == VALUE_NULL)
            return value == OPEN ? OPEN : UNDEFINED;
        arguments[count++] = value;
    }
    uint32_t result = function_apply(solver->question->data, node->symbol, arguments);
    return result ? result : UNDEFINED;
}

static uint32_t evaluate_term(const struct solver *solver, uint32_t term)
{
    const struct guard_node *node = &solver->nodes[term];
    switch ((enum guard_kind)node->kind) {
    case TERM_PORT:
    case TERM_NEXT:
        return solver->value[union_find_root(solver->parent, variable_of(solver, term))];
    case TERM_NOW:
        return solver->question->now[node->symbol];
    case TERM_CONSTANT: {
        uint32_t value = solver->question->data->index[node->symbol];
        return value ? value : UNDEFINED;
    }
    case TERM_APPLY:
        return apply_function(solver, node);
    default:
        return VALUE_NULL;
    }
}

enum truth {
    IS_FALSE,
    IS_TRUE,
    IS_OPEN,
};

static enum truth judge_literal(const struct solver *solver, struct literal literal)
{
    const struct guard_node *node = &solver->nodes[literal.node];
    bool holds;
    if (node->kind == GUARD_PREDICATE) {
        uint32_t value = apply_function(solver, node);
        if (value == OPEN)
            return IS_OPEN;
        holds = value != UNDEFINED;
    } else {
        uint32_t left = evaluate_term(solver, node->left),
                 right = evaluate_term(solver, node->right);
        if (left == UNDEFINED || right == UNDEFINED)
            holds = false;
        else if (left == OPEN || right == OPEN)
            return IS_OPEN;
        else
            holds = left == right;
    }
    return holds == literal.holds ? IS_TRUE : IS_FALSE;
}

static gordian_status push_literal(struct solver *solver, struct literal_list *to,
                                   struct literal literal)
{
    if (!memory_extend(&solver->question->guards->memory, to->list, to->room, to->count))
        return fail_memory(solver->error);
    to->list[to->count++] = literal;
    return GORDIAN_OK;
}

/* A change of the search that can be undone: a root was bound, or became the child of another
 * root. */
struct change {
    uint32_t root;
    bool joined, other_was_port;
    uint32_t other, other_value;
};

static void take_back(struct solver *solver, const struct change *changes, size_t count)
{
    while (count-- > 0) {
        const struct change *change = &changes[count];
        if (change->joined) {
            solver->parent[change->root] = change->root;
            solver->value[change->other] = change->other_value;
            solver->is_port[change->other] = change->other_was_port;
        } else {
            solver->value[change->root] = OPEN;
        }
    }
}

/* Makes two variables equal. Returns false if they cannot be. */
static bool join_classes(struct solver *solver, uint32_t left, uint32_t right,
                         struct change *change, size_t *changes)
{
    uint32_t below = union_find_root(solver->parent, left),
             above = union_find_root(solver->parent, right);
    if (below == above)
        return true;
    uint32_t one = solver->value[below], other = solver->value[above];
    if (one != OPEN && other != OPEN && one != other)
        return false;
    *change = (struct change){.root = below,
                              .joined = true,
                              .other_was_port = solver->is_port[above],
                              .other = above,
                              .other_value = other};
    ++*changes;
    solver->parent[below] = above;
    solver->is_port[above] |= solver->is_port[below];
    solver->value[above] = one != OPEN ? one : other;
    return solver->value[above] != VALUE_NULL || !solver->is_port[above];
}

static bool bind_solver_variable(struct solver *solver, uint32_t variable, uint32_t value,
                                 struct change *change, size_t *changes)
{
    uint32_t root = union_find_root(solver->parent, variable);
    if (value == UNDEFINED || (value == VALUE_NULL && solver->is_port[root]))
        return false;
    *change = (struct change){.root = root};
    ++*changes;
    solver->value[root] = value;
    return true;
}

/* Derives what one positive equality implies. Adds at most one change. Returns false on a
 * contradiction. *progress: something was derived. */
static bool follow_literal(struct solver *solver, struct literal literal, struct change *changes,
                           size_t *count, bool *progress)
{
    const struct guard_node *node = &solver->nodes[literal.node];
    if (node->kind != GUARD_EQUAL || !literal.holds)
        return true;
    uint32_t left = variable_of(solver, node->left), right = variable_of(solver, node->right);
    uint32_t left_value = evaluate_term(solver, node->left),
             right_value = evaluate_term(solver, node->right);
    size_t before = *count;
    bool fine = true;
    if (left != GUARD_NONE && right != GUARD_NONE)
        fine = join_classes(solver, left, right, &changes[*count], count);
    else if (left != GUARD_NONE && left_value == OPEN && right_value != OPEN)
        fine = bind_solver_variable(solver, left, right_value, &changes[*count], count);
    else if (right != GUARD_NONE && right_value == OPEN && left_value != OPEN)
        fine = bind_solver_variable(solver, right, left_value, &changes[*count], count);
    *progress |= *count > before;
    return fine;
}

/* Propagates literals until nothing new follows. */
static bool propagate_literals(struct solver *solver, struct change *changes, size_t *count)
{
    bool progress = true;
    while (progress) {
        progress = false;
        for (size_t i = 0; i < solver->literals.count; i++) {
            enum truth truth = judge_literal(solver, solver->literals.list[i]);
            if (truth == IS_FALSE)
                return false;
            if (truth == IS_OPEN &&
                !follow_literal(solver, solver->literals.list[i], changes, count, &progress))
                return false;
        }
    }
    return true;
}

/* Binds the open classes one after another. Every level derives at most one change per variable, so
 * a list of `variables` changes is long enough. */
static gordian_status search_literals(struct solver *solver, uint32_t from)
{
    const gordian_allocator *memory = &solver->question->guards->memory;
    if (++solver->steps > GUARD_STEPS_MAX)
        return fail(solver->error, GORDIAN_STATUS_INPUT,
                    "the guard is too complex: no result after %u values", GUARD_STEPS_MAX);
    struct change *changes =
        memory_alloc(memory, 2 * (size_t)(solver->variables + 1) * sizeof *changes);
    if (!changes)
        return fail_memory(solver->error);
    size_t count = 0;
    gordian_status status = GORDIAN_OK;
    if (propagate_literals(solver, changes, &count)) {
        while (
            from < solver->variables &&
            (!solver->wanted[from] || solver->value[union_find_root(solver->parent, from)] != OPEN))
            from++;
        if (from == solver->variables) {
            const struct guard_question *question = solver->question;
            for (uint32_t v = 0; v < solver->variables; v++)
                solver->solution[v] = solver->wanted[v]
                                          ? solver->value[union_find_root(solver->parent, v)]
                                          : (uint32_t)VALUE_NULL;
            status = question->solution(question->context, solver->solution,
                                        solver->solution + question->ports, solver->error);
        } else {
            uint32_t root = union_find_root(solver->parent, from);
            /* Ports carry elements of D. A cell with its own domain may also have the symbols of
             * cells only. */
            const struct guard_question *asked = solver->question;
            bool own = root >= asked->ports && asked->own && asked->own[root - asked->ports];
            uint32_t last = own ? asked->data->domain_size : asked->data->port_size;
            uint32_t value = solver->is_port[root] ? 1 : 0;
            for (; value <= last && status == GORDIAN_OK; value++) {
                solver->value[root] = value;
                status = search_literals(solver, from + 1);
            }
            solver->value[root] = OPEN;
        }
    }
    take_back(solver, changes, count);
    memory_free(memory, changes);
    return status;
}

static gordian_status try_alternatives(struct solver *solver);

/* Splits a disjunction into two cases: `left`, or not `left` and `right`. So no solution is found
 * twice. */
static gordian_status branch_on(struct solver *solver, struct literal left, struct literal right)
{
    const gordian_allocator *memory = &solver->question->guards->memory;
    size_t count = solver->pending.count, literals = solver->literals.count;
    struct literal *saved = memory_alloc(memory, (count + 1) * sizeof *saved);
    if (!saved)
        return fail_memory(solver->error);
    if (count > 0)
        memcpy(saved, solver->pending.list, count * sizeof *saved);
    gordian_status status = push_literal(solver, &solver->pending, left);
    THEN(status, try_alternatives(solver));
    if (count > 0)
        memcpy(solver->pending.list, saved, count * sizeof *saved);
    solver->pending.count = count;
    solver->literals.count = literals;
    left.holds = !left.holds;
    THEN(status, push_literal(solver, &solver->pending, left));
    THEN(status, push_literal(solver, &solver->pending, right));
    THEN(status, try_alternatives(solver));
    memory_free(memory, saved);
    return status;
}

/* Decomposes the pending formulas into literals. At a disjunction it tries one alternative after
 * the other. */
static gordian_status try_alternatives(struct solver *solver)
{
    while (solver->pending.count > 0) {
        struct literal next = solver->pending.list[--solver->pending.count];
        const struct guard_node *node = &solver->nodes[next.node];
        struct literal left = {node->left, next.holds}, right = {node->right, next.holds};
        switch ((enum guard_kind)node->kind) {
        case GUARD_TRUE:
        case GUARD_FALSE:
            if ((node->kind == GUARD_TRUE) != next.holds)
                return GORDIAN_OK;
            break;
        case GUARD_NOT:
            left.holds = !next.holds;
            TRY(push_literal(solver, &solver->pending, left));
            break;
        case GUARD_AND:
        case GUARD_OR:
            if ((node->kind == GUARD_OR) == next.holds)
                return branch_on(solver, left, right);
            TRY(push_literal(solver, &solver->pending, right));
            TRY(push_literal(solver, &solver->pending, left));
            break;
        default:
            TRY(push_literal(solver, &solver->literals, next));
        }
    }
    if (++solver->alternatives > GUARD_ALTERNATIVES_MAX)
        return fail(solver->error, GORDIAN_STATUS_INPUT, "the guard has more than %d alternatives",
                    GUARD_ALTERNATIVES_MAX);
    return search_literals(solver, 0);
}

static void prepare_solver(struct solver *solver)
{
    const struct guard_question *question = solver->question;
    for (uint32_t v = 0; v < solver->variables; v++) {
        solver->parent[v] = v;
        solver->value[v] = OPEN;
        solver->is_port[v] = v < question->ports;
        solver->wanted[v] = v >= question->ports || bits_test(question->fires, v);
    }
    for (uint32_t c = 0; c < question->cells; c++)
        if (!guard_writes(question->guards, question->guard, c))
            solver->value[question->ports + c] = question->now[c];
}

/* Allocates the arrays of the solver in one block. */
static bool make_arrays(struct solver *solver, void **block)
{
    size_t n = solver->variables ? solver->variables : 1;
    char *bytes = memory_alloc(&solver->question->guards->memory,
                               n * (3 * sizeof(uint32_t) + 2 * sizeof(bool)));
    *block = bytes;
    if (!bytes)
        return false;
    solver->parent = (uint32_t *)(void *)bytes;
    solver->value = solver->parent + n;
    solver->solution = solver->value + n;
    solver->wanted = (bool *)(solver->solution + n);
    solver->is_port = solver->wanted + n;
    return true;
}

gordian_status guard_solve(const struct guard_question *question, gordian_error *error)
{
    static const struct guard_node always = {.kind = GUARD_TRUE};
    void *block;
    struct solver solver = {
        .question = question,
        .nodes = question->guards->count > 0 ? question->guards->nodes : &always,
        .variables = question->ports + question->cells,
        .error = error,
    };
    if (!make_arrays(&solver, &block))
        return fail_memory(error);
    prepare_solver(&solver);
    gordian_status status =
        push_literal(&solver, &solver.pending, (struct literal){question->guard, true});
    THEN(status, try_alternatives(&solver));
    memory_free_all(&question->guards->memory, solver.pending.list, solver.literals.list, block);
    return status;
}
