/* Guards: solving against trying everything, on random ones. */
#include "engines/compose/circuit/guard.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "test.h"

#include <string.h>

#define PORTS 3u
#define CELLS 2u

struct solutions {
    uint32_t values[8000][PORTS + CELLS];
    size_t count;
};

static gordian_status take(void *context, const uint32_t *at_ports, const uint32_t *next,
                           gordian_error *error)
{
    struct solutions *solutions = context;
    (void)error;
    REQUIRE(solutions->count < sizeof solutions->values / sizeof *solutions->values);
    uint32_t *values = solutions->values[solutions->count++];
    memcpy(values, at_ports, PORTS * sizeof *values);
    memcpy(values + PORTS, next, CELLS * sizeof *values);
    return GORDIAN_OK;
}

static int compare(const void *left, const void *right)
{
    return memcmp(left, right, (PORTS + CELLS) * sizeof(uint32_t));
}

struct making {
    struct random *random;
    struct guards *guards;
    const uint64_t *fires;
    uint32_t constants, functions;
};

static uint32_t make_term(struct making *making, unsigned depth)
{
    uint32_t kind = (uint32_t)random_below(making->random, depth > 0 ? 7 : 6);
    uint32_t port = (uint32_t)random_below(making->random, PORTS);
    switch (kind) {
    case 0:
    case 1:
        if (bits_test(making->fires, port))
            return guard_add(making->guards, TERM_PORT, GUARD_NONE, GUARD_NONE, port);
        /* fall through */
    case 2:
        return guard_add(making->guards, TERM_NOW, GUARD_NONE, GUARD_NONE,
                         (uint32_t)random_below(making->random, CELLS));
    case 3:
        return guard_add(making->guards, TERM_NEXT, GUARD_NONE, GUARD_NONE,
                         (uint32_t)random_below(making->random, CELLS));
    case 4:
        return guard_add(making->guards, TERM_CONSTANT, GUARD_NONE, GUARD_NONE,
                         (uint32_t)random_below(making->random, making->constants));
    case 5:
        return guard_add(making->guards, TERM_NULL, GUARD_NONE, GUARD_NONE, 0);
    default: {
        uint32_t list =
            guard_add(making->guards, TERM_LIST, make_term(making, depth - 1), GUARD_NONE, 0);
        return guard_add(making->guards, TERM_APPLY, list, GUARD_NONE,
                         (uint32_t)random_below(making->random, making->functions));
    }
    }
}

static uint32_t make_guard(struct making *making, unsigned depth)
{
    uint32_t kind = (uint32_t)random_below(making->random, depth > 0 ? 10 : 4);
    uint32_t left, right;
    if (kind < 3) {
        left = make_term(making, 1);
        right = make_term(making, 1);
        return guard_add(making->guards, GUARD_EQUAL, left, right, 0);
    }
    if (kind == 3) {
        if (random_chance(making->random, 20))
            return guard_add(making->guards,
                             random_chance(making->random, 50) ? GUARD_TRUE : GUARD_FALSE,
                             GUARD_NONE, GUARD_NONE, 0);
        uint32_t list = guard_add(making->guards, TERM_LIST, make_term(making, 1), GUARD_NONE, 0);
        return guard_add(making->guards, GUARD_PREDICATE, list, GUARD_NONE,
                         (uint32_t)random_below(making->random, making->functions));
    }
    left = make_guard(making, depth - 1);
    if (kind == 4)
        return guard_add(making->guards, GUARD_NOT, left, GUARD_NONE, 0);
    right = make_guard(making, depth - 1);
    return kind < 8 ? guard_and(making->guards, left, right)
                    : guard_add(making->guards, GUARD_OR, left, right, 0);
}

/* D of 1 to 3 values, with a function and a predicate that are not defined everywhere. */
static void make_data(struct data *data, const gordian_allocator *memory, struct random *random)
{
    static const char *const texts[] = {"0", "1", "2"};
    uint32_t symbols[3], number;
    data_init(data, memory);
    size_t size = 1 + random_below(random, 3);
    for (size_t i = 0; i < size; i++) {
        REQUIRE(data_symbol(data, texts[i], 1, &symbols[i], NULL) == GORDIAN_OK);
        REQUIRE(data_use(data, symbols[i], NULL) == GORDIAN_OK);
    }
    uint32_t rows[] = {symbols[0], symbols[size - 1]};
    struct function table = {.kind = FUNCTION_TABLE, .arity = 1, .row_count = 1, .rows = rows};
    struct function member = {.kind = FUNCTION_MEMBER, .arity = 1, .row_count = 1, .rows = rows};
    REQUIRE(data_function(data, &table, &number, NULL) == GORDIAN_OK);
    REQUIRE(data_function(data, &member, &number, NULL) == GORDIAN_OK);
    REQUIRE(data_builtin(data, "succ", 4, &number, NULL) == GORDIAN_OK);
    REQUIRE(data_builtin(data, "even", 4, &number, NULL) == GORDIAN_OK);
    REQUIRE(data_close(data, NULL) == GORDIAN_OK);
}

/* ------------------------------------------------------------------ trying everything */

#define UNDEFINED UINT32_MAX

/* An assignment: values of ports, and of cells after the step. */
struct trying {
    const struct guard_question *question;
    uint32_t values[PORTS + CELLS];
};

static uint32_t value_of(const struct trying *trying, uint32_t term);

/* Undefined: a function outside its table, a predicate that does not hold, null for an argument. */
static uint32_t apply(const struct trying *trying, const struct guard_node *node)
{
    const struct guard_node *nodes = trying->question->guards->nodes;
    uint32_t arguments[FUNCTION_ARITY], count = 0;
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right) {
        arguments[count] = value_of(trying, nodes[list].left);
        if (arguments[count] == UNDEFINED || arguments[count] == VALUE_NULL)
            return UNDEFINED;
        count++;
    }
    uint32_t result = function_apply(trying->question->data, node->symbol, arguments);
    return result ? result : UNDEFINED;
}

static uint32_t value_of(const struct trying *trying, uint32_t term)
{
    const struct guard_node *node = &trying->question->guards->nodes[term];
    switch ((enum guard_kind)node->kind) {
    case TERM_PORT:
        return trying->values[node->symbol];
    case TERM_NEXT:
        return trying->values[PORTS + node->symbol];
    case TERM_NOW:
        return trying->question->now[node->symbol];
    case TERM_CONSTANT: {
        uint32_t value = trying->question->data->index[node->symbol];
        return value ? value : UNDEFINED;
    }
    case TERM_APPLY:
        return apply(trying, node);
    default:
        return VALUE_NULL;
    }
}

static bool holds(const struct trying *trying, uint32_t guard)
{
    const struct guard_node *node = &trying->question->guards->nodes[guard];
    switch ((enum guard_kind)node->kind) {
    case GUARD_TRUE:
        return true;
    case GUARD_FALSE:
        return false;
    case GUARD_AND:
        return holds(trying, node->left) && holds(trying, node->right);
    case GUARD_OR:
        return holds(trying, node->left) || holds(trying, node->right);
    case GUARD_NOT:
        return !holds(trying, node->left);
    case GUARD_PREDICATE:
        return apply(trying, node) != UNDEFINED;
    default: {
        uint32_t left = value_of(trying, node->left);
        return left != UNDEFINED && left == value_of(trying, node->right);
    }
    }
}

/* Ports that fire have a datum, others none; cells that the guard does not write keep theirs. */
static void try_all(struct trying *trying, uint32_t from)
{
    const struct guard_question *question = trying->question;
    if (from == PORTS + CELLS) {
        if (holds(trying, question->guard))
            take(question->context, trying->values, trying->values + PORTS, NULL);
        return;
    }
    uint32_t least = 0, most = question->data->domain_size;
    if (from < PORTS && bits_test(question->fires, from))
        least = 1;
    else if (from < PORTS)
        most = VALUE_NULL;
    else if (!guard_writes(question->guards, question->guard, from - PORTS))
        least = most = question->now[from - PORTS];
    for (uint32_t value = least; value <= most; value++) {
        trying->values[from] = value;
        try_all(trying, from + 1);
    }
}

static void check_one(struct random *random, struct solutions *solved, struct solutions *tried)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct data data;
    struct guards guards;
    uint64_t fires = 1 + random_below(random, (1u << PORTS) - 1);
    make_data(&data, &memory, random);
    guards_init(&guards, &memory);
    struct making making = {random, &guards, &fires, data.symbol_count,
                            (uint32_t)data.function_count};
    uint32_t guard = make_guard(&making, (unsigned)random_below(random, 5));
    REQUIRE(guard_stray_port(&guards, guard, &fires) == GUARD_NONE);
    uint32_t now[CELLS];
    for (size_t c = 0; c < CELLS; c++)
        now[c] = (uint32_t)random_below(random, data.domain_size + 1);
    struct guard_question question = {&guards, &data, guard, PORTS, CELLS,
                                      &fires,  now,   take,  solved};
    solved->count = tried->count = 0;
    REQUIRE(guard_solve(&question, NULL) == GORDIAN_OK);
    question.context = tried;
    try_all(&(struct trying){.question = &question}, 0);
    qsort(solved->values, solved->count, sizeof *solved->values, compare);
    qsort(tried->values, tried->count, sizeof *tried->values, compare);
    CHECK_MSG(solved->count == tried->count && memcmp(solved->values, tried->values,
                                                      solved->count * sizeof *solved->values) == 0,
              "%zu solutions, not %zu", solved->count, tried->count);
    guards_free(&guards);
    data_free(&data);
}

static gordian_status count_only(void *context, const uint32_t *at_ports, const uint32_t *next,
                                 gordian_error *error)
{
    (void)next, (void)error;
    CHECK(at_ports[0] == at_ports[1]);
    ++*(size_t *)context;
    return GORDIAN_OK;
}

/* Sixty ends with the same datum: |D| solutions, at once. */
static void check_replicator(void)
{
    enum { ENDS = 60 };
    gordian_allocator memory = memory_allocator(NULL);
    struct data data;
    struct guards guards;
    struct random random;
    uint64_t fires = (UINT64_C(1) << ENDS) - 1;
    uint32_t guard = 0;
    random_seed(&random, 3);
    make_data(&data, &memory, &random);
    guards_init(&guards, &memory);
    guard = guard_add(&guards, GUARD_TRUE, GUARD_NONE, GUARD_NONE, 0);
    for (uint32_t p = 1; p < ENDS; p++) {
        uint32_t left = guard_add(&guards, TERM_PORT, GUARD_NONE, GUARD_NONE, p);
        uint32_t right = guard_add(&guards, TERM_PORT, GUARD_NONE, GUARD_NONE, p - 1);
        guard = guard_and(&guards, guard, guard_add(&guards, GUARD_EQUAL, left, right, 0));
    }
    size_t count = 0;
    struct guard_question question = {&guards, &data, guard,      ENDS,  0,
                                      &fires,  NULL,  count_only, &count};
    CHECK(guard_solve(&question, NULL) == GORDIAN_OK);
    CHECK(count == data.domain_size);
    guards_free(&guards);
    data_free(&data);
}

int main(void)
{
    static struct solutions solved, tried;
    struct random random;
    unsigned long rounds = test_scaled(40000);
    random_seed(&random, 1);
    for (unsigned long i = 0; i < rounds; i++)
        check_one(&random, &solved, &tried);
    check_replicator();
    return test_done();
}
