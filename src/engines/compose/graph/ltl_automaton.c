/* Translates LTL formulas to automata (ltl_automaton.h). */
#include "engines/compose/graph/ltl_automaton.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* Alternatives that are tried at most. */
#define SPLITS_MAX (1u << 22)

struct builder {
    struct linear *linear;
    const struct formula *formula;
    uint8_t *timeless;
    uint32_t *begin; /* by node: the first node of its subformula, which is contiguous */
    uint8_t *wanted; /* by node: 1 positive, 2 negated, 3 both */
    uint32_t *parts; /* by node: two parts, positive and negated */
    uint32_t splits; /* alternatives tried */
    gordian_error *error;
};

/* ------------------------------------------------------------------ nodes of the formula */

static unsigned operand_count(uint8_t kind)
{
    switch ((enum formula_kind)kind) {
    case FORMULA_TRUE:
    case FORMULA_FALSE:
    case FORMULA_DEADLOCK:
    case FORMULA_NAME:
    case FORMULA_LOCAL:
    case FORMULA_FIRES:
        return 0;
    case FORMULA_NOT:
    case FORMULA_EX:
    case FORMULA_EG:
    case FORMULA_STEP:
    case FORMULA_NEXT:
        return 1;
    default:
        return 2;
    }
}

void linear_timeless(const struct formula *formula, uint8_t *timeless)
{
    for (size_t n = 0; n < formula->count; n++) {
        const struct formula_node *node = &formula->nodes[n];
        unsigned operands = operand_count(node->kind);
        timeless[n] = node->kind < FORMULA_FIRES && (operands < 1 || timeless[node->left]) &&
                      (operands < 2 || timeless[node->right]);
    }
}

/* Are two nodes equal? Operands are compared by their relative positions. */
static bool same_node(const struct formula_node *a, const struct formula_node *b, uint32_t apart)
{
    unsigned operands = operand_count(a->kind);
    if (a->kind != b->kind || (operands > 0 && a->left + apart != b->left) ||
        (operands > 1 && a->right + apart != b->right))
        return false;
    if (a->kind == FORMULA_LOCAL) /* the same automaton, so the same number of states */
        return a->factor == b->factor && a->state_count == b->state_count &&
               memcmp(a->states, b->states, a->state_count) == 0;
    return !a->name || strcmp(a->name, b->name) == 0;
}

static bool same_formulas(const struct builder *builder, uint32_t a, uint32_t b)
{
    const struct formula_node *nodes = builder->formula->nodes;
    uint32_t first = builder->begin[a], apart = b - a;
    if (builder->begin[b] != first + apart)
        return false;
    for (uint32_t n = first; n <= a; n++)
        if (!same_node(&nodes[n], &nodes[n + apart], apart))
            return false;
    return true;
}

/* ------------------------------------------------------------------ parts */

static bool same_part(const struct builder *builder, const struct part *a, const struct part *b)
{
    if (a->kind != b->kind || a->negated != b->negated || a->left != b->left ||
        a->right != b->right)
        return false;
    if (a->kind != PART_STATE && a->kind != PART_FIRES)
        return true;
    uint32_t low = a->node < b->node ? a->node : b->node;
    uint32_t high = a->node < b->node ? b->node : a->node;
    return low == high || same_formulas(builder, low, high);
}

static gordian_status put_part(struct builder *builder, struct part part, uint32_t *number)
{
    struct linear *linear = builder->linear;
    for (*number = 0; *number < linear->part_count; ++*number)
        if (same_part(builder, &linear->parts[*number], &part))
            return GORDIAN_OK;
    if (linear->part_count == LINEAR_PARTS)
        return fail(builder->error, GORDIAN_STATUS_INPUT,
                    "the LTL formula has more than %u different subformulas", LINEAR_PARTS);
    if (!memory_extend(&linear->memory, linear->parts, linear->part_room, linear->part_count))
        return fail_memory(builder->error);
    linear->parts[linear->part_count++] = part;
    return GORDIAN_OK;
}

static bool part_is(const struct builder *builder, uint32_t part, enum part_kind kind)
{
    return builder->linear->parts[part].kind == kind;
}

/* The part for a node, negated or not. The parts of its operands exist already. */
static struct part part_of(const struct builder *builder, uint32_t number, bool negated)
{
    const struct formula_node *node = &builder->formula->nodes[number];
    const uint32_t *left = builder->parts + 2 * (size_t)node->left;
    const uint32_t *right = builder->parts + 2 * (size_t)node->right;
    struct part part = {0};
    if (node->kind == FORMULA_TRUE || node->kind == FORMULA_FALSE) {
        part.kind = (node->kind == FORMULA_TRUE) != negated ? PART_TRUE : PART_FALSE;
        return part;
    }
    if (builder->timeless[number] || node->kind == FORMULA_FIRES)
        return (struct part){.kind = node->kind == FORMULA_FIRES ? PART_FIRES : PART_STATE,
                             .negated = negated,
                             .node = number};
    if (node->kind == FORMULA_NOT)
        return builder->linear->parts[left[!negated]];
    part.left = left[negated];
    part.right = node->kind == FORMULA_NEXT ? part.left : right[negated];
    part.kind = node->kind == FORMULA_NEXT                 ? PART_NEXT
                : node->kind == FORMULA_AND                ? (negated ? PART_OR : PART_AND)
                : node->kind == FORMULA_OR                 ? (negated ? PART_AND : PART_OR)
                : (node->kind == FORMULA_UNTIL) != negated ? PART_UNTIL
                                                           : PART_RELEASE;
    /* Simplifies operators with constant or equal operands. */
    const struct part *parts = builder->linear->parts;
    bool left_true = part_is(builder, part.left, PART_TRUE);
    bool left_false = part_is(builder, part.left, PART_FALSE);
    bool right_true = part_is(builder, part.right, PART_TRUE);
    bool right_false = part_is(builder, part.right, PART_FALSE);
    switch ((enum part_kind)part.kind) {
    case PART_AND:
        return left_false || right_true                              ? parts[part.left]
               : right_false || left_true || part.left == part.right ? parts[part.right]
                                                                     : part;
    case PART_OR:
        return left_true || right_false                              ? parts[part.left]
               : right_true || left_false || part.left == part.right ? parts[part.right]
                                                                     : part;
    case PART_NEXT:
        return left_true || left_false ? parts[part.left] : part;
    case PART_UNTIL:
        return right_true || right_false || left_false ? parts[part.right] : part;
    case PART_RELEASE:
        return right_true || right_false || left_true ? parts[part.right] : part;
    default:
        return part;
    }
}

static gordian_status make_formula_parts(struct builder *builder)
{
    /* Top-down: which nodes are needed, positive or negated. */
    const struct formula *formula = builder->formula;
    builder->wanted[formula->top] |= 2;
    for (size_t n = formula->count; n-- > 0;) {
        const struct formula_node *node = &formula->nodes[n];
        unsigned operands = builder->timeless[n] ? 0 : operand_count(node->kind);
        uint8_t wanted = builder->wanted[n];
        if (node->kind == FORMULA_NOT)
            wanted = (uint8_t)((wanted & 1) << 1 | wanted >> 1);
        if (operands > 0)
            builder->wanted[node->left] |= wanted;
        if (operands > 1)
            builder->wanted[node->right] |= wanted;
    }
    for (uint32_t n = 0; n < builder->formula->count; n++)
        for (unsigned negated = 0; negated < 2; negated++)
            if (builder->wanted[n] >> negated & 1)
                TRY(put_part(builder, part_of(builder, n, negated),
                             &builder->parts[2 * (size_t)n + negated]));
    return GORDIAN_OK;
}

static void find_opposites(struct builder *builder)
{
    struct linear *linear = builder->linear;
    for (uint32_t a = 0; a < linear->part_count; a++) {
        linear->parts[a].opposite = GORDIAN_NONE;
        for (uint32_t b = 0; b < linear->part_count; b++) {
            struct part other = linear->parts[b];
            bool literal = other.kind == PART_STATE || other.kind == PART_FIRES;
            other.negated = !other.negated;
            if (literal && same_part(builder, &linear->parts[a], &other))
                linear->parts[a].opposite = b;
        }
    }
}

/* ------------------------------------------------------------------ sets of parts */

static bool set_within(const struct part_set *small, const struct part_set *large)
{
    for (size_t i = 0; i < LINEAR_PARTS / 64; i++)
        if (small->words[i] & ~large->words[i])
            return false;
    return true;
}

/* Removes a member. Returns false if the set is empty. */
static bool set_take(struct part_set *set, uint32_t *part)
{
    for (uint32_t i = 0; i < LINEAR_PARTS / 64; i++)
        if (set->words[i]) {
            *part = i * 64 + (uint32_t)__builtin_ctzll(set->words[i]);
            set->words[i] &= set->words[i] - 1;
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------ the automaton */

static gordian_status put_state(struct builder *builder, const struct part_set *wanted,
                                uint32_t *number)
{
    struct linear *linear = builder->linear;
    for (*number = 0; *number < linear->state_count; ++*number)
        if (memcmp(&linear->states[*number], wanted, sizeof *wanted) == 0)
            return GORDIAN_OK;
    if (linear->state_count == LINEAR_STATES)
        return fail(builder->error, GORDIAN_STATUS_INPUT,
                    "the formula's automaton has more than %u states", LINEAR_STATES);
    if (!memory_extend(&linear->memory, linear->states, linear->state_room, linear->state_count))
        return fail_memory(builder->error);
    linear->states[linear->state_count++] = *wanted;
    return GORDIAN_OK;
}

/* A set that is being decomposed. */
struct moment {
    struct part_set todo, seen, next;
    struct part_set literals, promises;
};

static gordian_status split_moment(struct builder *builder, struct moment now);

/* Splits an alternative: `first` holds now; or `second` holds now, and the whole may be required
 * again later. */
static gordian_status split_choice(struct builder *builder, const struct moment *now,
                                   uint32_t number, uint32_t first, uint32_t second)
{
    const struct part *part = &builder->linear->parts[number];
    struct moment one = *now, other = *now;
    bits_set(one.todo.words, first);
    bits_set(other.todo.words, second);
    if (part->kind == PART_RELEASE)
        bits_set(one.todo.words, second); /* g and f hold: the release ends */
    if (part->kind != PART_OR)
        bits_set(other.next.words, number);
    if (part->kind == PART_UNTIL)
        bits_set(other.promises.words, number);
    TRY(split_moment(builder, one));
    return split_moment(builder, other);
}

/* Decomposes the requirements into literals, requirements for the next step, and promises. */
static gordian_status split_moment(struct builder *builder, struct moment now)
{
    const struct part *parts = builder->linear->parts;
    uint32_t number;
    if (++builder->splits > SPLITS_MAX)
        return fail(builder->error, GORDIAN_STATUS_INPUT, "the formula is too large");
    while (set_take(&now.todo, &number)) {
        const struct part *part = &parts[number];
        if (bits_test(now.seen.words, number))
            continue;
        bits_set(now.seen.words, number);
        switch ((enum part_kind)part->kind) {
        case PART_TRUE:
            break;
        case PART_FALSE:
            return GORDIAN_OK;
        case PART_STATE:
        case PART_FIRES:
            if (part->opposite != GORDIAN_NONE && bits_test(now.literals.words, part->opposite))
                return GORDIAN_OK;
            bits_set(now.literals.words, number);
            break;
        case PART_AND:
            bits_set(now.todo.words, part->left);
            bits_set(now.todo.words, part->right);
            break;
        case PART_NEXT:
            bits_set(now.next.words, part->left);
            break;
        case PART_OR:
        case PART_RELEASE:
            return split_choice(builder, &now, number, part->left, part->right);
        case PART_UNTIL:
            return split_choice(builder, &now, number, part->right, part->left);
        }
    }
    /* Adds a move unless another move of the state allows at least as much. */
    struct linear *linear = builder->linear;
    struct linear_move move = {.literals = now.literals, .promises = now.promises};
    TRY(put_state(builder, &now.next, &move.to));
    for (size_t i = linear->first[linear->explored]; i < linear->move_count; i++) {
        const struct linear_move *other = &linear->moves[i];
        if (other->to == move.to && set_within(&other->literals, &move.literals) &&
            set_within(&other->promises, &move.promises))
            return GORDIAN_OK;
    }
    if (linear->move_count == LINEAR_MOVES)
        return fail(builder->error, GORDIAN_STATUS_INPUT,
                    "the formula's automaton has more than %u moves", LINEAR_MOVES);
    if (!memory_extend(&linear->memory, linear->moves, linear->move_room, linear->move_count))
        return fail_memory(builder->error);
    linear->moves[linear->move_count++] = move;
    return GORDIAN_OK;
}

/* Computes the moves of every state, including states that are found meanwhile. */
static gordian_status make_moves(struct builder *builder)
{
    struct linear *linear = builder->linear;
    const struct formula *formula = builder->formula;
    struct part_set all = {{0}};
    uint32_t number;
    bits_set(all.words, builder->parts[2 * (size_t)formula->top + 1]);
    TRY(put_state(builder, &all, &number));
    for (linear->explored = 0;; linear->explored++) {
        if (!memory_extend(&linear->memory, linear->first, linear->first_room, linear->explored))
            return fail_memory(builder->error);
        linear->first[linear->explored] = linear->move_count;
        if (linear->explored == linear->state_count)
            break;
        TRY(split_moment(builder, (struct moment){.todo = linear->states[linear->explored]}));
    }
    return GORDIAN_OK;
}

gordian_status linear_open(struct linear *linear, const struct formula *formula,
                           const gordian_allocator *memory, gordian_error *error)
{
    struct builder builder = {.linear = linear, .formula = formula, .error = error};
    gordian_status status = GORDIAN_OK;
    *linear = (struct linear){.memory = *memory};
    builder.timeless = memory_zeroed(memory, formula->count);
    builder.begin = memory_alloc(memory, formula->count * sizeof *builder.begin);
    builder.wanted = memory_zeroed(memory, formula->count);
    builder.parts = memory_zeroed(memory, 2 * formula->count * sizeof *builder.parts);
    if (!builder.timeless || !builder.begin || !builder.wanted || !builder.parts)
        status = fail_memory(error);
    if (status == GORDIAN_OK) {
        linear_timeless(formula, builder.timeless);
        for (uint32_t n = 0; n < builder.formula->count; n++) {
            const struct formula_node *node = &builder.formula->nodes[n];
            unsigned operands = operand_count(node->kind);
            builder.begin[n] = n;
            if (operands > 0)
                builder.begin[n] = builder.begin[node->left];
            if (operands > 1 && builder.begin[node->right] < builder.begin[n])
                builder.begin[n] = builder.begin[node->right];
        }
        status = make_formula_parts(&builder);
    }
    if (status == GORDIAN_OK) {
        find_opposites(&builder);
        status = make_moves(&builder);
    }
    memory_free_all(memory, builder.timeless, builder.begin, builder.wanted, builder.parts);
    return status;
}

void linear_close(struct linear *linear)
{
    memory_free_all(&linear->memory, linear->parts, linear->states, linear->first, linear->moves);
    *linear = (struct linear){.memory = linear->memory};
}
