/* Parses the body of a PTX function: scopes, registers, labels, instructions. */
#include "engines/ptx/ptx_internal.h"

#include "foundation/base/io/reader.h"

#include <string.h>

#define REGISTERS_MAX (1u << 24) /* per range */
#define SCOPES_MAX    100u       /* nesting depth */

struct body {
    gordian_ptx *ptx;
    struct ptx_function *function;
    uint32_t next;  /* token */
    uint32_t scope; /* the current one */
    uint32_t place;
    gordian_error *error;
};

/* ------------------------------------------------------------------ scopes and names */

static gordian_status open_scope(struct body *body)
{
    struct ptx_function *function = body->function;
    if (!memory_grow(&body->ptx->memory, &function->parents, &function->scope_room,
                     function->scope_count + 1, sizeof *function->parents))
        return fail_memory(body->error);
    function->parents[function->scope_count] = body->scope;
    body->scope = (uint32_t)function->scope_count++;
    return GORDIAN_OK;
}

/* Looks a name up in the scope and the enclosing ones; *where: the scope that has it. */
static uint32_t find_in_scopes(const struct ptx_function *function, const struct ptx_names *names,
                               uint32_t scope, const char *text, size_t length, uint32_t *where)
{
    for (;;) {
        uint32_t value = ptx_names_find(names, scope, text, length);
        *where = scope;
        if (value != PTX_NONE || function->parents[scope] == PTX_NONE)
            return value;
        scope = function->parents[scope];
    }
}

/* The label that an instruction of this scope refers to; PTX_NONE: none. */
static uint32_t ptx_find_label(const gordian_ptx *ptx, const struct ptx_function *function,
                               uint32_t scope, uint32_t token)
{
    uint32_t where;
    return find_in_scopes(function, &function->label_names, scope, ptx_text(ptx, token),
                          ptx->tokens[token].length, &where);
}

/* Returns 0 for a single declared register, the count of its range for others, PTX_NONE: not
 * declared. */
static uint32_t count_declared(const gordian_ptx *ptx, const struct ptx_function *function,
                               uint32_t scope, uint32_t token, uint32_t *where)
{
    const char *text = ptx_text(ptx, token);
    size_t length = ptx->tokens[token].length, prefix = length, digits;
    uint32_t found = find_in_scopes(function, &function->registers, scope, text, length, where);
    if (found == 0)
        return 0;
    while (prefix > 0 && text[prefix - 1] >= '0' && text[prefix - 1] <= '9')
        prefix--;
    digits = length - prefix;
    uint64_t number;
    const char *why;
    if (digits == 0 || prefix == 0 || !parse_u64(text + prefix, digits, &number, &why))
        return PTX_NONE;
    found = find_in_scopes(function, &function->registers, scope, text, prefix, where);
    return found != PTX_NONE && number < found ? 1 : PTX_NONE;
}

uint32_t ptx_register(const gordian_ptx *ptx, const struct ptx_function *function, uint32_t scope,
                      uint32_t token)
{
    uint32_t where;
    if (ptx->tokens[token].kind != PTX_WORD ||
        count_declared(ptx, function, scope, token, &where) == PTX_NONE)
        return PTX_NONE;
    return ptx_names_find(&function->used, where, ptx_text(ptx, token), ptx->tokens[token].length);
}

static bool is_special(const gordian_ptx *ptx, uint32_t token)
{
    static const char *const special[] = {"tid",
                                          "ntid",
                                          "laneid",
                                          "warpid",
                                          "nwarpid",
                                          "ctaid",
                                          "nctaid",
                                          "smid",
                                          "nsmid",
                                          "gridid",
                                          "is_explicit_cluster",
                                          "clusterid",
                                          "nclusterid",
                                          "cluster_",
                                          "lanemask_",
                                          "clock",
                                          "pm",
                                          "envreg",
                                          "globaltimer",
                                          "reserved_smem_offset_",
                                          "total_smem_size",
                                          "aggr_smem_size",
                                          "dynamic_smem_size",
                                          "current_graph_exec",
                                          NULL};
    const char *text = ptx_text(ptx, token) + 1;
    for (size_t i = 0; special[i]; i++)
        if (strncmp(text, special[i], strlen(special[i])) == 0)
            return true;
    return false;
}

/* A word in an operand: numbers a register. A word with '%' must be a register. */
static gordian_status mention_register(struct body *body, uint32_t token)
{
    gordian_ptx *ptx = body->ptx;
    struct ptx_function *function = body->function;
    uint32_t where;
    const char *text = ptx_text(ptx, token);
    size_t length = ptx->tokens[token].length;
    if (*text >= '0' && *text <= '9')
        return GORDIAN_OK;
    const char *dot = memchr(text, '.', length); /* a component of a vector */
    if (count_declared(ptx, function, body->scope, token, &where) != PTX_NONE) {
        if (ptx_names_find(&function->used, where, text, length) == PTX_NONE &&
            !ptx_names_put(&function->used, where, text, length, function->register_count++))
            return fail_memory(body->error);
    } else if (*text == '%' && !is_special(ptx, token) && !dot) {
        return ptx_fail(ptx, token, body->error, "register '%.*s' is not declared",
                        PTX_SHOWN(ptx, token));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ directives */

static gordian_status declare_registers(struct body *body, uint32_t name, uint32_t count)
{
    gordian_ptx *ptx = body->ptx;
    const char *text = ptx_text(ptx, name);
    size_t length = ptx->tokens[name].length;
    if (ptx_names_find(&body->function->registers, body->scope, text, length) != PTX_NONE)
        return ptx_fail(ptx, name, body->error, "'%.*s' is declared twice", PTX_SHOWN(ptx, name));
    return ptx_names_put(&body->function->registers, body->scope, text, length, count)
               ? GORDIAN_OK
               : fail_memory(body->error);
}

/* .reg .b32 %r<10>, %x; */
static gordian_status read_registers(struct body *body)
{
    gordian_ptx *ptx = body->ptx;
    uint32_t first = body->next++;
    while (ptx->tokens[body->next].kind == PTX_WORD && *ptx_text(ptx, body->next) == '.')
        body->next++;
    for (;;) {
        uint32_t name = body->next, count = 0;
        if (ptx->tokens[name].kind != PTX_WORD)
            return ptx_fail(ptx, name, body->error, "expected the name of a register");
        body->next++;
        if (ptx_is_mark(ptx, body->next, '<')) {
            uint64_t number;
            const char *why;
            uint32_t at = body->next + 1;
            if (ptx->tokens[at].kind != PTX_WORD ||
                !parse_u64(ptx_text(ptx, at), ptx->tokens[at].length, &number, &why) ||
                number == 0 || number > REGISTERS_MAX || !ptx_is_mark(ptx, at + 1, '>'))
                return ptx_fail(ptx, at, body->error, "expected how many registers, and '>'");
            count = (uint32_t)number;
            body->next += 3;
        }
        TRY(declare_registers(body, name, count));
        if (ptx_is_mark(ptx, body->next, ';'))
            break;
        if (!ptx_is_mark(ptx, body->next, ','))
            return ptx_fail(ptx, first, body->error, "a ';' is missing after this declaration");
        body->next++;
    }
    body->next++;
    return GORDIAN_OK;
}

static gordian_status read_directive(struct body *body)
{
    static const char *const known[] = {".param",
                                        ".shared",
                                        ".local",
                                        ".global",
                                        ".const",
                                        ".pragma",
                                        ".branchtargets",
                                        ".calltargets",
                                        ".callprototype",
                                        ".tex",
                                        ".samplerref",
                                        ".surfref",
                                        NULL};
    gordian_ptx *ptx = body->ptx;
    if (ptx_is(ptx, body->next, ".loc"))
        return ptx_read_loc(ptx, &body->next, &body->place, body->error);
    if (ptx_is(ptx, body->next, ".file"))
        return ptx_read_file(ptx, &body->next, body->error);
    if (ptx_is(ptx, body->next, ".reg"))
        return read_registers(body);
    if (ptx_is_any(ptx, body->next, known))
        return ptx_skip_declaration(ptx, &body->next, body->error);
    return ptx_fail(ptx, body->next, body->error, "unknown directive '%.*s'",
                    PTX_SHOWN(ptx, body->next));
}

static gordian_status read_label(struct body *body)
{
    gordian_ptx *ptx = body->ptx;
    struct ptx_function *function = body->function;
    uint32_t name = body->next;
    const char *text = ptx_text(ptx, name);
    size_t length = ptx->tokens[name].length;
    if (ptx_names_find(&function->label_names, body->scope, text, length) != PTX_NONE)
        return ptx_fail(ptx, name, body->error, "label '%.*s' is defined twice",
                        PTX_SHOWN(ptx, name));
    if (!memory_grow(&ptx->memory, &function->labels, &function->label_room,
                     function->label_count + 1, sizeof *function->labels) ||
        !ptx_names_put(&function->label_names, body->scope, text, length,
                       (uint32_t)function->label_count))
        return fail_memory(body->error);
    function->labels[function->label_count++] = (struct ptx_label){
        .name = name,
        .scope = body->scope,
        .instruction = (uint32_t)function->code_count,
        .targets = ptx_is(ptx, name + 2, ".branchtargets") ? name + 3 : 0,
    };
    body->next += 2;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ instructions */

/* Compares the opcode up to its first dot. */
static bool opcode_stem_is(const char *text, size_t length, const char *word)
{
    size_t stem = strlen(word);
    return length >= stem && memcmp(text, word, stem) == 0 && (length == stem || text[stem] == '.');
}

static enum ptx_flow flow_of(const gordian_ptx *ptx, uint32_t name)
{
    const char *text = ptx_text(ptx, name);
    size_t length = ptx->tokens[name].length;
    if (opcode_stem_is(text, length, "bra") || opcode_stem_is(text, length, "brx"))
        return PTX_BRANCH;
    if (opcode_stem_is(text, length, "ret") || opcode_stem_is(text, length, "exit") ||
        opcode_stem_is(text, length, "trap"))
        return PTX_RETURN;
    return opcode_stem_is(text, length, "call") ? PTX_CALL : PTX_NEXT;
}

/* Parses operands up to the ';'. Brackets must match, and no two words may be adjacent. */
static gordian_status read_operands(struct body *body, struct ptx_instruction *instruction)
{
    gordian_ptx *ptx = body->ptx;
    char open[16];
    size_t depth = 0;
    instruction->first = body->next;
    for (;; body->next++) {
        uint32_t at = body->next;
        const struct ptx_token *token = &ptx->tokens[at];
        char c = token->kind == PTX_END ? '\0' : *ptx_text(ptx, at);
        bool next_to = at > instruction->first && ptx->tokens[at - 1].kind == PTX_WORD;
        if (token->kind == PTX_WORD && c != '.') {
            if (next_to)
                return ptx_fail(ptx, at, body->error, "expected ',' or ';' before '%.*s'",
                                PTX_SHOWN(ptx, at));
            TRY(mention_register(body, at));
        } else if (token->kind == PTX_MARK && c == ';' && depth == 0) {
            break;
        } else if (token->kind == PTX_MARK && strchr("([{", c) && depth < sizeof open) {
            open[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (token->kind == PTX_MARK && strchr(")]}", c) && depth > 0 &&
                   c == open[depth - 1]) {
            depth--;
        } else if (token->kind == PTX_END || token->kind == PTX_STRING ||
                   (token->kind == PTX_MARK && strchr(";@()[]{}", c))) {
            return ptx_fail(ptx, instruction->name, body->error, "'%c' is missing in or after this",
                            depth ? open[depth - 1] : ';');
        }
    }
    instruction->count = body->next++ - instruction->first;
    return GORDIAN_OK;
}

static gordian_status read_guard(struct body *body, struct ptx_instruction *instruction)
{
    gordian_ptx *ptx = body->ptx;
    body->next++;
    if (ptx_is_mark(ptx, body->next, '!')) {
        instruction->negated = true;
        body->next++;
    }
    uint32_t at = body->next;
    TRY(ptx->tokens[at].kind == PTX_WORD ? mention_register(body, at) : GORDIAN_OK);
    instruction->guard = ptx_register(ptx, body->function, body->scope, at);
    if (instruction->guard == PTX_NONE)
        return ptx_fail(ptx, at, body->error, "expected a predicate register after '@'");
    body->next++;
    return GORDIAN_OK;
}

static gordian_status read_ptx_instruction(struct body *body)
{
    gordian_ptx *ptx = body->ptx;
    struct ptx_function *function = body->function;
    struct ptx_instruction made = {.guard = PTX_NONE, .place = body->place, .scope = body->scope};
    if (ptx_is_mark(ptx, body->next, '@'))
        TRY(read_guard(body, &made));
    made.name = body->next;
    char c = ptx->tokens[body->next].kind == PTX_WORD ? *ptx_text(ptx, body->next) : '\0';
    if (c < 'a' || c > 'z')
        return ptx_fail(ptx, body->next, body->error, "expected an instruction");
    body->next++;
    made.flow = flow_of(ptx, made.name);
    TRY(read_operands(body, &made));
    uint32_t callee = made.name;
    if (made.flow == PTX_CALL)
        ptx_callee(ptx, function, &made, &callee);
    if (ptx_is(ptx, callee, "__assertfail"))
        made.flow = PTX_RETURN; /* it does not return */
    if (!memory_grow(&ptx->memory, &function->code, &function->code_room, function->code_count + 1,
                     sizeof *function->code))
        return fail_memory(body->error);
    function->code[function->code_count++] = made;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ targets */

static gordian_status add_branch_target(struct body *body, struct ptx_instruction *branch,
                                        uint32_t token)
{
    gordian_ptx *ptx = body->ptx;
    struct ptx_function *function = body->function;
    uint32_t label = ptx->tokens[token].kind == PTX_WORD
                         ? ptx_find_label(ptx, function, branch->scope, token)
                         : PTX_NONE;
    if (label == PTX_NONE)
        return ptx_fail(ptx, token, body->error, "there is no label '%.*s' here",
                        PTX_SHOWN(ptx, token));
    if (!memory_grow(&ptx->memory, &function->targets, &function->target_room,
                     function->target_count + 1, sizeof *function->targets))
        return fail_memory(body->error);
    function->targets[function->target_count++] = label;
    branch->target_count++;
    return GORDIAN_OK;
}

/* brx.idx INDEX, TARGETS; with TARGETS: .branchtargets A, B, C; */
static gordian_status add_targets(struct body *body, struct ptx_instruction *branch)
{
    gordian_ptx *ptx = body->ptx;
    uint32_t last = branch->first + branch->count - 1;
    uint32_t label =
        branch->count > 0 ? ptx_find_label(ptx, body->function, branch->scope, last) : PTX_NONE;
    uint32_t at = label == PTX_NONE ? 0 : body->function->labels[label].targets;
    if (at == 0)
        return ptx_fail(ptx, branch->name, body->error,
                        "the targets of this branch are not listed (.branchtargets)");
    for (; ptx->tokens[at].kind == PTX_WORD; at += 1u + ptx_is_mark(ptx, at + 1, ','))
        TRY(add_branch_target(body, branch, at));
    return GORDIAN_OK;
}

static gordian_status resolve_targets(struct body *body)
{
    gordian_ptx *ptx = body->ptx;
    struct ptx_function *function = body->function;
    for (size_t i = 0; i < function->code_count; i++) {
        struct ptx_instruction *branch = &function->code[i];
        if (branch->flow != PTX_BRANCH)
            continue;
        branch->first_target = (uint32_t)function->target_count;
        if (ptx_text(ptx, branch->name)[2] == 'x')
            TRY(add_targets(body, branch));
        else if (branch->count != 1)
            return ptx_fail(ptx, branch->name, body->error, "a branch goes to one label");
        else
            TRY(add_branch_target(body, branch, branch->first));
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the body */

/* Parses one item of the body; *depth of braces. */
static gordian_status read_item(struct body *body, uint32_t *depth)
{
    gordian_ptx *ptx = body->ptx;
    uint32_t at = body->next;
    if (ptx_is_mark(ptx, at, '{')) {
        if (++*depth > SCOPES_MAX)
            return ptx_fail(ptx, at, body->error, "braces more than %u deep", SCOPES_MAX);
        body->next++;
        return open_scope(body);
    }
    if (ptx_is_mark(ptx, at, '}')) {
        --*depth;
        body->next++;
        body->scope = body->function->parents[body->scope];
        return GORDIAN_OK;
    }
    if (ptx_is_mark(ptx, at, ';')) {
        body->next++;
        return GORDIAN_OK;
    }
    if (ptx->tokens[at].kind == PTX_WORD && *ptx_text(ptx, at) == '.')
        return read_directive(body);
    if (ptx->tokens[at].kind == PTX_WORD && ptx_is_mark(ptx, at + 1, ':'))
        return read_label(body);
    if (ptx->tokens[at].kind == PTX_END)
        return ptx_fail(ptx, at, body->error, "the body of '%.*s' does not end: '}' is missing",
                        PTX_SHOWN(ptx, body->function->name));
    return read_ptx_instruction(body);
}

gordian_status ptx_read_body(gordian_ptx *ptx, struct ptx_function *function, uint32_t *next,
                             gordian_error *error)
{
    struct body body = {.ptx = ptx,
                        .function = function,
                        .next = *next,
                        .scope = PTX_NONE,
                        .place = PTX_NONE,
                        .error = error};
    TRY(open_scope(&body));
    uint32_t depth = 1;
    while (depth > 0)
        TRY(read_item(&body, &depth));
    TRY(resolve_targets(&body));
    *next = body.next;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ operands */

/* Calls `each` for the registers from `at` to the matching bracket: all of them are written. */
static void written_group(const gordian_ptx *ptx, const struct ptx_function *function,
                          const struct ptx_instruction *instruction, uint32_t at,
                          void (*each)(void *context, uint32_t number), void *context)
{
    uint32_t end = instruction->first + instruction->count;
    for (; at < end && !ptx_is_mark(ptx, at, '}') && !ptx_is_mark(ptx, at, ')'); at++) {
        uint32_t number = ptx_register(ptx, function, instruction->scope, at);
        if (number != PTX_NONE)
            each(context, number);
    }
}

void ptx_written(const gordian_ptx *ptx, const struct ptx_function *function,
                 const struct ptx_instruction *instruction,
                 void (*each)(void *context, uint32_t number), void *context)
{
    uint32_t at = instruction->first, end = at + instruction->count;
    if (at == end)
        return;
    if (ptx_is_mark(ptx, at, '{') || ptx_is_mark(ptx, at, '(')) {
        written_group(ptx, function, instruction, at, each, context);
        return;
    }
    for (; at < end && !ptx_is_mark(ptx, at, ',') && !ptx_is_mark(ptx, at, '['); at++) {
        /* D|p: both are written. */
        uint32_t number = ptx_register(ptx, function, instruction->scope, at);
        if (number != PTX_NONE)
            each(context, number);
    }
}

uint32_t ptx_callee(const gordian_ptx *ptx, const struct ptx_function *function,
                    const struct ptx_instruction *instruction, uint32_t *name)
{
    uint32_t at = instruction->first, end = at + instruction->count;
    if (at < end && ptx_is_mark(ptx, at, '(')) {
        while (at < end && !ptx_is_mark(ptx, at, ')'))
            at++;
        at += 2; /* skips the comma */
    }
    *name = at < end ? at : instruction->name;
    if (at >= end || ptx->tokens[at].kind != PTX_WORD ||
        ptx_register(ptx, function, instruction->scope, at) != PTX_NONE)
        return PTX_NONE;
    return ptx_names_find(&ptx->function_names, 0, ptx_text(ptx, at), ptx->tokens[at].length);
}
