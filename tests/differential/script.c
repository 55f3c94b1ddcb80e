#include "script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

gordian_event step_event(const struct step *step)
{
    gordian_event event = step->event;
    event.wants = step->many ? step->wants : NULL;
    return event;
}

void script_push(struct script *script, const struct step *step)
{
    if (script->count == script->room) {
        script->room = script->room ? 2 * script->room : 256;
        script->steps = realloc(script->steps, script->room * sizeof *script->steps);
        if (!script->steps) {
            fprintf(stderr, "out of memory\n");
            exit(4);
        }
    }
    script->steps[script->count++] = *step;
}

void script_free(struct script *script)
{
    free(script->steps);
    *script = (struct script){0};
}

/* ------------------------------------------------------------------ as a trace */

/* Ids come back, names in a trace had better not: id 3 is p3, then p3_1, p3_2, ... */
struct id_names {
    char kind;
    uint32_t ids;
    uint32_t *lives;
};

static void names_open(struct id_names *names, char kind, uint32_t ids)
{
    *names = (struct id_names){kind, ids, naive_zeroed(ids, sizeof *names->lives)};
}

static void print_name(const struct id_names *names, uint32_t id, FILE *out)
{
    uint32_t life = id < names->ids ? names->lives[id] : 0;
    fprintf(out, "%c%" PRIu32, names->kind, id);
    if (life > 1)
        fprintf(out, "_%" PRIu32, life - 1);
}

static void print_want(const struct id_names *resources, gordian_want want, FILE *out)
{
    fputc(' ', out);
    print_name(resources, want.resource, out);
    if (want.units != 1)
        fprintf(out, "=%" PRIu64, want.units);
}

static void print_event(const gordian_event *event, const struct id_names *processes,
                        const struct id_names *resources, FILE *out)
{
    fprintf(out, "%s ", gordian_op_text(event->op));
    print_name(processes, event->process, out);
    if (event->wants)
        for (size_t i = 0; i < event->want_count; i++)
            print_want(resources, event->wants[i], out);
    else if (event->op != GORDIAN_OP_CANCEL && event->op != GORDIAN_OP_EXIT)
        print_want(resources, (gordian_want){event->units, event->resource}, out);
    if (event->op == GORDIAN_OP_RELEASE && event->to != GORDIAN_NONE) {
        fputs(" to ", out);
        print_name(processes, event->to, out);
    }
    fputc('\n', out);
}

static void print_step(const struct step *step, const struct id_names *processes,
                       const struct id_names *resources, FILE *out)
{
    gordian_event event = step_event(step);
    switch (step->kind) {
    case STEP_EVENT:
        print_event(&event, processes, resources, out);
        return;
    case STEP_ADD_RESOURCE:
        fputs("resource ", out);
        print_name(resources, event.resource, out);
        fprintf(out, " %" PRIu64 "\n", (uint64_t)step->value);
        return;
    case STEP_REMOVE_RESOURCE:
        fputs("# remove ", out);
        print_name(resources, event.resource, out);
        fputc('\n', out);
        return;
    case STEP_RECOVER:
        fprintf(out, "# recover %s\n", gordian_policy_text((gordian_policy)step->value));
        return;
    case STEP_ADD_PROCESS:
    case STEP_SET_PRIORITY:
    case STEP_SET_COST:
        fputs("process ", out);
        break;
    case STEP_REMOVE_PROCESS:
        fputs("# remove ", out);
        break;
    }
    print_name(processes, event.process, out);
    if (step->kind == STEP_SET_PRIORITY || step->kind == STEP_SET_COST)
        fprintf(out, " %s=%" PRId64, step->kind == STEP_SET_COST ? "cost" : "priority",
                step->value);
    fputc('\n', out);
}

void step_print(const struct step *step, FILE *out)
{
    static const struct id_names processes = {'p', 0, NULL}, resources = {'r', 0, NULL};
    print_step(step, &processes, &resources, out);
}

void script_write(const struct script *script, FILE *out)
{
    struct id_names processes, resources;
    names_open(&processes, 'p', (uint32_t)script->count);
    names_open(&resources, 'r', (uint32_t)script->count);
    for (size_t i = 0; i < script->count; i++) {
        const struct step *step = &script->steps[i];
        if (step->kind == STEP_ADD_PROCESS && step->event.process < processes.ids)
            processes.lives[step->event.process]++;
        if (step->kind == STEP_ADD_RESOURCE && step->event.resource < resources.ids)
            resources.lives[step->event.resource]++;
        print_step(step, &processes, &resources, out);
    }
    free(processes.lives);
    free(resources.lives);
}
