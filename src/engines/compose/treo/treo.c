/* Reads .treo programs: modules, imports, and the main component. */
#include "engines/compose/treo/treo.h"

#include "engines/compose/circuit/primitives.h"
#include "engines/compose/treo/treo_internal.h"
#include "foundation/base/nearest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 1000u
#define PATH_SIZE   600

/* Returns the module of a token. A tree of the main component may be evaluated for another
 * module. */
static uint32_t module_of(const struct treo *treo, uint32_t module, const struct token *token)
{
    for (size_t m = 0; m < treo->module_count; m++) {
        const struct text *other = treo->modules[m]->shown;
        if (token->text >= other->bytes && token->text <= other->bytes + other->size)
            module = (uint32_t)m;
    }
    return module;
}

gordian_status treo_note(struct treo *treo, uint32_t module, const struct token *token,
                         const char *format, ...)
{
    va_list arguments;
    char line[600];
    const struct text *text = treo->modules[module_of(treo, module, token)]->shown;
    int used =
        snprintf(line, sizeof line, "%.300s:%u:%u: ", text->name, token->line, token->column);
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    va_end(arguments);
    return circuit_note(treo->circuit, line, treo->error);
}

gordian_status treo_complain(struct treo *treo, uint32_t module, const struct token *token,
                             const char *format, ...)
{
    va_list arguments;
    treo->fault_module = module_of(treo, module, token);
    const struct text *text = treo->modules[treo->fault_module]->shown;
    text_point(text, token->line, token->column, treo->fault);
    va_start(arguments, format);
    fail_at_list(treo->error, GORDIAN_STATUS_INPUT, token->line, token->column, format, arguments);
    va_end(arguments);
    return GORDIAN_STATUS_INPUT;
}

/* ------------------------------------------------------------------ modules */

/* Adds a module with its text only. Takes ownership of `own`, unless it is NULL. */
static gordian_status new_module(struct treo *treo, const struct text *shown, struct text *own,
                                 struct module **out)
{
    struct module *module = memory_zeroed(&treo->memory, sizeof *module);
    if (!module ||
        !memory_extend(&treo->memory, treo->modules, treo->module_room, treo->module_count)) {
        memory_free(&treo->memory, module);
        return fail_memory(treo->error);
    }
    module->tokens.memory = module->names.memory = treo->memory;
    module->shown = shown;
    if (own) {
        module->text = *own;
        module->shown = &module->text;
    }
    treo->modules[treo->module_count++] = module;
    *out = module;
    return GORDIAN_OK;
}

static gordian_status parse_module(struct treo *treo, uint32_t number)
{
    struct parser parser;
    struct module *module = treo->modules[number];
    if (number > 0)
        TRY(tokens_read(&module->tokens, module->shown, &treo->memory, treo->fault, treo->error));
    parser_open(&parser, &module->tokens, &treo->arena, treo->fault, treo->error);
    TRY(parse_file(&parser, &module->file));
    for (struct definition *definition = module->file.definitions; definition;
         definition = definition->next) {
        uint32_t label;
        uint32_t known = labels_find(&module->names, definition->name, strlen(definition->name));
        if (known != GORDIAN_NONE)
            return treo_complain(treo, number, definition->token,
                                 "'%s' is defined twice; the first time in line %u",
                                 definition->name, module->definitions[known]->token->line);
        if (!memory_extend(&treo->memory, module->definitions, module->definition_room,
                           module->definition_count))
            return fail_memory(treo->error);
        TRY(labels_put(&module->names, definition->name, strlen(definition->name), &label,
                       treo->error));
        module->definitions[module->definition_count++] = definition;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ imported files */

/* If a component is defined as rules and in other forms, each has its own file: c.rba.treo. */
static void import_path(const char *path, bool rules, char *buffer, size_t size)
{
    size_t stem = strlen(path) - strlen(".treo");
    snprintf(buffer, size, "%.*s%s.treo", (int)stem, path, rules ? ".rba" : "");
}

/* Opens a file; GORDIAN_STATUS_END: it does not exist. */
static gordian_status open_import_file(const char *folder, size_t length, const char *path,
                                       gordian_import *import, gordian_error *error)
{
    char whole[1024];
    if (snprintf(whole, sizeof whole, "%.*s%s", (int)length, folder, path) >= (int)sizeof whole)
        return GORDIAN_STATUS_END;
    int fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return GORDIAN_STATUS_END;
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%.200s': %s", whole,
                    strerror(errno));
    gordian_source source = gordian_source_fd(&fd);
    gordian_status status = gordian_import_read(import, whole, &source, error);
    close(fd);
    return status;
}

/* Tries a folder: first the file with rules. */
static gordian_status open_import(const char *folder, size_t length, const char *path,
                                  gordian_import *import, gordian_error *error)
{
    gordian_status status = GORDIAN_STATUS_END;
    for (int rules = 1; rules >= 0 && status == GORDIAN_STATUS_END; rules--) {
        char asked[1024];
        import_path(path, rules, asked, sizeof asked);
        status = open_import_file(folder, length, asked, import, error);
    }
    return status;
}

static gordian_status open_in_folder_of(const char *file, const char *path, gordian_import *import,
                                        gordian_error *error)
{
    const char *slash = strrchr(file, '/');
    return open_import(file, slash ? (size_t)(slash - file) + 1 : 0, path, import, error);
}

/* Searches next to the importing file, next to the first file (a.b in section a is a/b.treo), and
 * in the folders. */
static gordian_status import_file(const char *folders, const char *first, const char *from,
                                  const char *path, gordian_import *import, gordian_error *error)
{
    gordian_status status = open_in_folder_of(from, path, import, error);
    if (status == GORDIAN_STATUS_END)
        status = open_in_folder_of(first, path, import, error);
    for (const char *folder = folders; folder && status == GORDIAN_STATUS_END;) {
        char name[700];
        size_t length = strcspn(folder, ":");
        snprintf(name, sizeof name, "%.*s/", (int)(length < 690 ? length : 690), folder);
        status = open_import(name, strlen(name), path, import, error);
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return status;
}

/* ------------------------------------------------------------------ imports */

/* Converts a.b.c to a path: a/b/c, or without the last `fewer` parts. */
static bool make_path(const char *name, unsigned fewer, char *path, size_t size)
{
    static const char ending[] = ".treo";
    size_t length = strlen(name);
    while (fewer-- > 0) {
        while (length > 0 && name[length - 1] != '.')
            length--;
        if (length-- == 0)
            return false;
    }
    if (length + strlen(ending) + 1 > size)
        return false;
    for (size_t i = 0; i < length; i++)
        path[i] = name[i] == '.' ? '/' : name[i];
    memcpy(path + length, ending, strlen(ending) + 1);
    return true;
}

static bool module_defines(const struct module *module, const char *name)
{
    return labels_find(&module->names, name, strlen(name)) != GORDIAN_NONE;
}

gordian_status gordian_import_read(gordian_import *import, const char *name,
                                   const gordian_source *source, gordian_error *error)
{
    gordian_allocator memory = import->text.memory;
    text_free(&import->text);
    return text_read(&import->text, name, source, &memory, error);
}

static gordian_status ask_for(const struct treo *treo, const char *from, const char *path,
                              gordian_import *import)
{
    const gordian_circuit_options *options = treo->options;
    gordian_status status = GORDIAN_STATUS_END;
    for (int rules = 1; rules >= 0 && options->import && status == GORDIAN_STATUS_END; rules--) {
        char asked[PATH_SIZE + 8];
        import_path(path, rules, asked, sizeof asked);
        status = options->import(options->context, from, asked, import, treo->error);
    }
    if (status == GORDIAN_STATUS_END && options->files)
        status = import_file(options->folders, treo->modules[0]->shown->name, from, path, import,
                             treo->error);
    if (status == GORDIAN_OK && !import->text.name)
        return fail(treo->error, GORDIAN_STATUS_INPUT, "nothing was read for '%.200s'", path);
    return status;
}

/* Tries a path; GORDIAN_STATUS_END: there is no such file. */
static gordian_status try_path(struct treo *treo, const struct module *from, const char *path,
                               uint32_t *number)
{
    gordian_import import = {.text = {.memory = treo->memory}};
    struct module *module = NULL;
    gordian_status status = ask_for(treo, from->shown->name, path, &import);
    if (status == GORDIAN_OK) {
        /* The meaning of an import depends on the file it is in. So the file found, not the words
         * of the import, decides whether the module has been read before. */
        *number = 0;
        while (*number < treo->module_count &&
               strcmp(treo->modules[*number]->shown->name, import.text.name) != 0)
            ++*number;
        if (*number == treo->module_count)
            status = new_module(treo, NULL, &import.text, &module);
    }
    if (!module) {
        text_free(&import.text);
        return status;
    }
    *number = (uint32_t)treo->module_count - 1;
    return parse_module(treo, *number);
}

static gordian_status find_import(struct treo *treo, uint32_t module, struct import *import)
{
    char path[PATH_SIZE];
    const char *dot = strrchr(import->name, '.');
    const char *last = dot ? dot + 1 : import->name;
    for (unsigned fewer = 0; fewer < 2; fewer++) {
        uint32_t number = 0;
        if (!make_path(import->name, fewer, path, sizeof path))
            continue;
        gordian_status status = try_path(treo, treo->modules[module], path, &number);
        if (status == GORDIAN_STATUS_END ||
            (status == GORDIAN_OK && !module_defines(treo->modules[number], last)))
            continue;
        import->module = number;
        return status;
    }
    /* sync and reo.sync need no file; sync of any other module does. */
    bool short_name = last == import->name || (last == import->name + strlen("reo.") &&
                                               strncmp(import->name, "reo.", 4) == 0);
    if (short_name && primitive_find(last, strlen(last)))
        return GORDIAN_OK;
    return treo_complain(treo, module, import->token, "cannot find '%s' to import", import->name);
}

/* ------------------------------------------------------------------ the main component */

/* The definition as it is used: ring, chain<n>. */
static void name_definition(const struct definition *definition, char *names, size_t size)
{
    const char *before = "<";
    const struct formal *formal = definition->component ? definition->component->parameters : NULL;
    snprintf(names, size, "%s", definition->name);
    for (; formal; formal = formal->next) {
        size_t used = strlen(names);
        snprintf(names + used, size - used, "%s%s%s", before,
                 formal->variable ? formal->variable->name : "x", formal->next ? "" : ">");
        before = ",";
    }
}

/* The definitions of the first text: ring, chain<n>. */
static void name_definitions(const struct treo *treo, char *names, size_t size)
{
    const struct module *module = treo->modules[0];
    names[0] = '\0';
    for (size_t i = 0; i < module->definition_count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, size - used, "%s", i ? ", " : "");
        used = strlen(names);
        name_definition(module->definitions[i], names + used, size - used);
    }
}

gordian_status treo_unknown(struct treo *treo, uint32_t number, const struct expr *variable)
{
    const struct module *module = treo->modules[number];
    struct nearest nearest = {.typed = variable->name, .length = strlen(variable->name)};
    char names[200] = "";
    bool is_main = module_of(treo, number, variable->token) != number;
    for (size_t i = 0; i < module->definition_count; i++)
        nearest_offer(&nearest, module->definitions[i]->name);
    for (const struct import *import = module->file.imports; import; import = import->next)
        nearest_offer(&nearest, import->name);
    for (size_t i = 0; primitive_name(i); i++)
        nearest_offer(&nearest, primitive_name(i));
    const char *found = nearest_found(&nearest);
    if (is_main)
        name_definitions(treo, names, sizeof names);
    return treo_complain(treo, number, variable->token, "there is no component '%s'%s%s%s%s%s",
                         variable->name, found ? "; did you mean '" : "", found ? found : "",
                         found ? "'?" : "",
                         !*names ? ""
                         : found ? " There are "
                                 : ". There are ",
                         names);
}

/* The default main component: main, the only one, or the one named like the file (ring of
 * lib/ring.treo and of ring.rba.treo). NULL: none. */
static const char *default_main(const struct module *module)
{
    const char *slash = strrchr(module->shown->name, '/');
    const char *base = slash ? slash + 1 : module->shown->name;
    if (module_defines(module, "main"))
        return "main";
    if (module->definition_count == 1)
        return module->definitions[0]->name;
    uint32_t number = labels_find(&module->names, base, strcspn(base, "."));
    return number == GORDIAN_NONE ? NULL : module->definitions[number]->name;
}

/* Makes a text that is not a file a module, with a parser at its beginning. */
static gordian_status parse_given(struct treo *treo, const char *what, const char *given,
                                  struct parser *parser)
{
    struct text text;
    struct module *module;
    TRY(text_copy(&text, what, given, strlen(given), &treo->memory, treo->error));
    gordian_status status = new_module(treo, NULL, &text, &module);
    if (status != GORDIAN_OK) {
        text_free(&text);
        return status;
    }
    status = tokens_read(&module->tokens, module->shown, &treo->memory, treo->fault, treo->error);
    if (status == GORDIAN_OK)
        parser_open(parser, &module->tokens, &treo->arena, treo->fault, treo->error);
    return status;
}

static gordian_status parse_main(struct treo *treo, struct set **main)
{
    struct parser parser;
    const char *wanted = treo->options->main ? treo->options->main : default_main(treo->modules[0]);
    if (!wanted) {
        text_point(treo->modules[0]->shown, 0, 0, treo->fault);
        const struct module *module = treo->modules[0];
        char names[200];
        name_definitions(treo, names, sizeof names);
        if (module->definition_count == 0)
            return fail(treo->error, GORDIAN_STATUS_INPUT, "there is no component");
        return fail(
            treo->error, GORDIAN_STATUS_INPUT,
            "more than one main component is possible: choose one with --main NAME. There are %s",
            names);
    }
    TRY(parse_given(treo, "main component", wanted, &parser));
    gordian_status status = parse_instance_only(&parser, main);
    return status == GORDIAN_OK ? circuit_title(treo->circuit, wanted, treo->error) : status;
}

/* ------------------------------------------------------------------ definitions and files */

/* f = {[0,1] [1,0]}; P = <0,2> */
static gordian_status read_defines(struct treo *treo, const char *defines)
{
    struct parser parser;
    TRY(parse_given(treo, "--define", defines, &parser));
    struct place place = {.treo = treo, .module = (uint32_t)treo->module_count - 1};
    while (parser.status == GORDIAN_OK && !parser_sees(&parser, TOKEN_END)) {
        struct value value;
        if (parser_take(&parser, ';'))
            continue;
        const char *name = NULL; /* f, or "any.text.1" */
        if (parser_sees(&parser, TOKEN_STRING)) {
            name = parser_text(&parser, parser_expect(&parser, TOKEN_STRING, "a name"));
        } else {
            const struct expr *variable = parse_variable(&parser);
            name = variable ? variable->name : NULL;
        }
        parser_expect(&parser, '=', "'=' and a table, a list or the name of a function");
        struct expr *expr = parse_expr(&parser, LEVEL_TERM);
        if (parser.status != GORDIAN_OK)
            break;
        if (expr->kind == EXPR_VARIABLE) /* add is the same as "add" */
            value = (struct value){.kind = VALUE_TEXT, .text = expr->name};
        else
            parser.status = value_evaluate(&place, expr, &value);
        if (parser.status == GORDIAN_OK)
            treo->defines = scope_bind(treo, treo->defines, name, &value);
        if (parser.status == GORDIAN_OK && !treo->defines)
            parser.status = GORDIAN_STATUS_MEMORY;
    }
    return parser.status;
}

gordian_status treo_begin(struct treo *treo, const struct text *text,
                          const gordian_circuit_options *options, gordian_fault *fault,
                          gordian_error *error)
{
    struct module *module = NULL;
    *treo = (struct treo){.options = options, .fault = fault, .error = error};
    if (fault)
        *fault = (gordian_fault){0};
    *error = (gordian_error){0};
    treo->memory = memory_allocator(options->allocator);
    treo->most = options->max_instances ? options->max_instances : TREO_INSTANCES_MAX;
    treo->keys.memory = treo->made.memory = treo->memory;
    arena_init(&treo->arena, &treo->memory);
    TRY(circuit_new(&treo->circuit, "", &treo->memory, error));
    if (options->max_unfolded)
        treo->circuit->max_unfolded = options->max_unfolded;
    TRY(new_module(treo, text, NULL, &module));
    TRY(tokens_read(&module->tokens, text, &treo->memory, fault, error));
    if (options->data)
        TRY(data_list(&treo->circuit->data, options->data, error));
    if (options->define)
        TRY(read_defines(treo, options->define));
    return GORDIAN_OK;
}

gordian_status treo_end(struct treo *treo, gordian_status status, gordian_circuit **out)
{
    THEN(status, circuit_seal(treo->circuit, treo->error));
    if (status == GORDIAN_STATUS_INPUT && treo->fault && !treo->fault->file[0] &&
        treo->module_count > 0)
        text_point(treo->modules[0]->shown, treo->error->line, treo->error->column, treo->fault);
    for (size_t m = 0; m < treo->module_count; m++) {
        struct module *module = treo->modules[m];
        if (module->shown == &module->text)
            text_free(&module->text);
        tokens_free(&module->tokens);
        labels_free(&module->names);
        memory_free_all(&treo->memory, module->definitions, module);
    }
    memory_free_all(&treo->memory, treo->modules, treo->instances, treo->stack, treo->nodes,
                    treo->bindings, treo->atoms, treo->ends, treo->automata);
    labels_free(&treo->keys);
    labels_free(&treo->made);
    arena_free(&treo->arena);
    *out = status == GORDIAN_OK ? treo->circuit : NULL;
    if (status == GORDIAN_OK)
        return status;
    gordian_circuit_close(treo->circuit);
    treo->error->status = status;
    return status;
}

static gordian_status read_program(struct treo *treo)
{
    struct set *main;
    TRY(parse_module(treo, 0));
    /* Imported modules may have imports, so the list of modules grows during the loop. */
    for (uint32_t m = 0; m < treo->module_count; m++) {
        if (m >= MODULES_MAX)
            return fail(treo->error, GORDIAN_STATUS_INPUT, "more than %u imported files",
                        MODULES_MAX);
        for (struct import *import = treo->modules[m]->file.imports; import; import = import->next)
            TRY(find_import(treo, m, import));
    }
    TRY(parse_main(treo, &main));
    TRY(treo_run(treo, main));
    return treo_fill(treo);
}

gordian_status treo_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error)
{
    static const gordian_circuit_options defaults = {0};
    gordian_error ignored = {0};
    struct treo treo;
    gordian_status status =
        treo_begin(&treo, text, options ? options : &defaults, fault, error ? error : &ignored);
    THEN(status, read_program(&treo));
    if (status == GORDIAN_OK)
        treo.circuit->own_inside = true;
    return treo_end(&treo, status, out);
}
