/* Text reports of `gordian compose`. */
#include "cli/compose/compose.h"
#include "foundation/base/error.h"

#include <string.h>

/* Automata listed by --explain, and names by --stats, unless --verbose. */
#define LISTED 100u
/* Steps of a trace that are shown, unless --verbose: half of them from each end. */
#define STEPS_SHOWN 60u

static const char *plural_of(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void write_counted(struct output *out, uint64_t count, const char *one, const char *many)
{
    output_u64(out, count);
    output_char(out, ' ');
    output_text(out, plural_of(count, one, many));
}

/* Writes the names that fire together: one, or several in braces. */
static void write_label(struct compose *compose, const char *label)
{
    struct output *out = &compose->cli->out;
    bool several = strchr(label, '|') != NULL;
    output_text(out, several ? "{" : "");
    while (*label) {
        char text[600];
        size_t length = strcspn(label, "|");
        size_t shown = length < sizeof text - 1 ? length : sizeof text - 1;
        memcpy(text, label, shown);
        text[shown] = '\0';
        style_name(&compose->style, out, COLOR_RESOURCE, text);
        label += length;
        if (*label == '|') {
            output_text(out, ", ");
            label++;
        }
    }
    output_text(out, several ? "}" : "");
}

/* `costs`: of the steps, or NULL. */
static void write_priced(struct compose *compose, const struct route *trace, const double *costs)
{
    struct output *out = &compose->cli->out;
    const char *label = trace->text.buffer;
    size_t half =
        compose->cli->verbose || trace->steps <= STEPS_SHOWN ? trace->steps : STEPS_SHOWN / 2;
    for (size_t i = 0; i < trace->steps; i++, label += strlen(label) + 1) {
        if (i == half)
            output_format(out, "         ... %zu more (--verbose shows them)\n",
                          trace->steps - 2 * half);
        if (i >= half && i < trace->steps - half)
            continue;
        output_format(out, "    %4zu  ", i + 1);
        write_label(compose, label);
        if (costs)
            output_format(out, "  (%.15g)", costs[i]);
        output_char(out, '\n');
    }
}

static void write_steps(struct compose *compose, const struct route *trace)
{
    write_priced(compose, trace, NULL);
}

/* `text`: a buffer in memory. */
static bool write_automaton(struct compose *compose, struct output *text,
                            const gordian_circuit *circuit, size_t automaton, uint32_t width)
{
    text->used = 0;
    if (!text_of_automaton(text, circuit, automaton))
        return false;
    style_name(&compose->style, &compose->cli->out, COLOR_PROCESS, text->buffer);
    size_t used = style_width(&compose->style, text->buffer);
    output_format(&compose->cli->out, "%*s", (int)(used < width ? width - used : 0), "");
    return true;
}

/* ------------------------------------------------------------------ intermediate products */

static void write_number(struct output *out, uint64_t number)
{
    if (number == UINT64_MAX)
        output_format(out, "%12s", "many");
    else
        output_format(out, "%12llu", (unsigned long long)number);
}

static gordian_status print_explanation(struct compose *compose, const struct subject *subject,
                                        const gordian_compose_stage *stages, gordian_error *error)
{
    struct output *out = &compose->cli->out, text;
    size_t count = subject->info.automaton_count;
    size_t listed = compose->cli->verbose || count <= LISTED ? count : LISTED;
    bool fine = output_open(&text, OUTPUT_MEMORY);
    write_counted(out, subject->info.automaton_count, "automaton", "automata");
    output_text(out, " on ");
    write_counted(out, subject->info.name_count, "name", "names");
    output_text(out, ", ");
    write_counted(out, subject->info.datum_count, "data value", "data values");
    if (subject->info.combinations != UINT64_MAX)
        output_format(out, "; %llu combinations of their states\n\n",
                      (unsigned long long)subject->info.combinations);
    else
        output_text(out, "; more than 2^64 combinations of their states\n\n");
    output_text(out, "number  states  transitions  with those above: states, transitions, "
                     "names left open\n");
    for (size_t i = 0; i < listed && fine; i++) {
        gordian_automaton_info info = {0};
        gordian_circuit_automaton(subject->circuit, stages[i].automaton, &info);
        output_format(out, "%6u  %6u  %11zu", stages[i].automaton + 1, info.state_count,
                      info.transition_count);
        write_number(out, stages[i].states);
        write_number(out, stages[i].transitions);
        output_format(out, "%6u  ", stages[i].open_names);
        fine = write_automaton(compose, &text, subject->circuit, stages[i].automaton, 0);
        output_char(out, '\n');
    }
    output_close(&text);
    if (listed < count)
        output_format(out, "        ... %zu more (--verbose shows them)\n", count - listed);
    output_char(out, '\n');
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* Prints the phases of the run, and how busy its threads were. */
static void print_phases(struct output *out, const gordian_compose_result *result)
{
    if (result->phase_count == 0)
        return;
    write_counted(out, result->workers, "worker", "workers");
    output_char(out, '\n');
    output_text(out,
                "  phase          ms   idle  words fired   words found          sent  rounds\n");
    for (size_t i = 0; i < result->phase_count; i++) {
        const gordian_compose_phase *phase = &result->phases[i];
        double all = (double)phase->ns * result->workers;
        output_format(out, "  %-8s %8.2f  %3.0f %%  %11llu   %11llu   %11llu  %6llu\n", phase->name,
                      (double)phase->ns / 1e6, all > 0 ? (double)phase->idle_ns / all * 100 : 0,
                      (unsigned long long)phase->fired, (unsigned long long)phase->found,
                      (unsigned long long)phase->sent, (unsigned long long)phase->rounds);
    }
    output_char(out, '\n');
}

static gordian_status print_statistics(struct compose *compose, const struct composed *composed,
                                       gordian_error *error)
{
    const gordian_circuit *circuit = composed->subject->circuit;
    const struct statistics *counted = &composed->statistics;
    struct output *out = &compose->cli->out;
    (void)error;
    print_phases(out, &composed->result);
    if (!counted->fired)
        return GORDIAN_OK;
    double mean = counted->rows ? (double)counted->transitions / (double)counted->rows : 0;
    output_format(out, "transitions of a state: %.2f on average, at most %llu\n", mean,
                  (unsigned long long)counted->branching);
    output_format(out, "transitions from a state to itself: %llu\n",
                  (unsigned long long)counted->loops);
    output_format(out, "names that fire at once: at most %llu\n",
                  (unsigned long long)counted->together);
    output_text(out, "how often each name fires:\n");
    uint32_t names = counted->names;
    uint32_t listed = compose->cli->verbose || names <= LISTED ? names : LISTED;
    for (uint32_t n = 0; n < listed; n++) {
        output_format(out, "  %12llu  ", (unsigned long long)counted->fired[n]);
        style_name(&compose->style, out, COLOR_RESOURCE, gordian_circuit_name(circuit, n));
        output_char(out, '\n');
    }
    if (listed < names)
        output_format(out, "        ... %u more (--verbose shows them)\n", names - listed);
    output_char(out, '\n');
    return GORDIAN_OK;
}

/* Writes the deadlocked state of each automaton that has more than one. */
static gordian_status write_locals(struct compose *compose, const gordian_circuit *circuit,
                                   const uint32_t *state, gordian_error *error)
{
    struct output *out = &compose->cli->out, text;
    gordian_automaton_info info;
    uint32_t shown = 0;
    bool fine = output_open(&text, OUTPUT_MEMORY);
    for (size_t a = 0; fine && gordian_circuit_automaton(circuit, a, &info) == GORDIAN_OK; a++) {
        if (info.state_count == 1)
            continue;
        if (shown == 0)
            output_text(out, "  and then nothing can move:\n");
        if (shown++ == LISTED && !compose->cli->verbose) {
            output_text(out, "    ... (--verbose shows all)\n");
            break;
        }
        output_text(out, "    ");
        fine = write_automaton(compose, &text, circuit, a, 28);
        text.used = 0;
        fine = fine && text_of_state(&text, circuit, a, state[a]);
        output_format(out, "  %s\n", fine ? text.buffer : "");
    }
    if (shown == 0)
        output_text(out, "  and nothing can move: there is no step that all agree on\n");
    output_close(&text);
    return fine ? GORDIAN_OK : fail_memory(error);
}

static gordian_status print_deadlock(struct compose *compose, const struct composed *composed,
                                     size_t number, const gordian_compose_deadlock *described,
                                     gordian_error *error)
{
    struct output *out = &compose->cli->out;
    struct route trace;
    gordian_status status = GORDIAN_OK;
    if (!route_open(&trace) || !route_of(&trace, composed, described)) {
        route_close(&trace);
        return fail_memory(error);
    }
    style_color(&compose->style, out, COLOR_BAD);
    output_format(out, "deadlock %zu", number);
    style_color(&compose->style, out, COLOR_PLAIN);
    if (!described || described->number != UINT64_MAX)
        output_format(
            out, " (state %llu)",
            (unsigned long long)(described ? described->number : composed->deadlocks.state));
    if (described && !described->labels)
        output_text(out, ": stopped before a path to it was found\n");
    else if (trace.steps == 0)
        output_text(out, ": at once\n");
    else
        output_format(out, ", after %zu %s:\n", trace.steps,
                      plural_of(trace.steps, "step", "steps"));
    write_steps(compose, &trace);
    if (described)
        status = write_locals(compose, composed->subject->circuit, described->state, error);
    output_char(out, '\n');
    route_close(&trace);
    return status;
}

static gordian_status print_unsafe(struct compose *compose, const struct composed *composed,
                                   gordian_error *error)
{
    const gordian_compose_deadlock *way = composed_nearest(composed);
    struct output *out = &compose->cli->out;
    struct route trace;
    if (!way || !way->labels)
        return GORDIAN_OK;
    if (!route_open(&trace) || !route_of(&trace, composed, way)) {
        route_close(&trace);
        return fail_memory(error);
    }
    style_text(&compose->style, out, COLOR_BAD, "not 1-safe");
    output_format(out, ", after %zu %s:\n", trace.steps, plural_of(trace.steps, "step", "steps"));
    write_steps(compose, &trace);
    output_format(out, "  %s\n\n", composed->result.note);
    route_close(&trace);
    return GORDIAN_OK;
}

static gordian_status print_livelock(struct compose *compose, const struct composed *composed,
                                     gordian_error *error)
{
    const gordian_livelock *found = &composed->livelock;
    const gordian_graph *graph = composed->product ? composed->product : composed->subject->graph;
    struct output *out = &compose->cli->out;
    struct route trace;
    if (found->states == 0 && !composed_is_complete(composed)) {
        output_text(out, "livelocks: none found, search incomplete\n");
        return GORDIAN_OK;
    }
    if (found->states == 0) {
        style_text(&compose->style, out, COLOR_GOOD, "no livelock");
        output_text(out, ": no cycle of hidden steps\n");
        return GORDIAN_OK;
    }
    if (!route_open(&trace) || !route_of_arcs(&trace, graph, found->path, found->path_count)) {
        route_close(&trace);
        return fail_memory(error);
    }
    style_text(&compose->style, out, COLOR_BAD, "livelock");
    output_format(out, ": %llu %s on cycles of hidden steps; the nearest after %zu %s:\n",
                  (unsigned long long)found->states, plural_of(found->states, "state", "states"),
                  trace.steps, plural_of(trace.steps, "step", "steps"));
    write_steps(compose, &trace);
    output_text(out, "  and then forever:\n");
    bool fine = route_of_arcs(&trace, graph, found->cycle, found->cycle_count);
    if (fine)
        write_steps(compose, &trace);
    output_char(out, '\n');
    route_close(&trace);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* Writes the question and the answer. */
static void write_answer(struct compose *compose, const gordian_check *check,
                         const gordian_graph *graph)
{
    static const char *const of_runs[] = {
        [GORDIAN_FAIRNESS_NONE] = "(every run)",
        [GORDIAN_FAIRNESS_WEAK] = "(every weakly fair run)",
        [GORDIAN_FAIRNESS_STRONG] = "(every strongly fair run)",
    };
    const gordian_question *question = &compose->question;
    struct output *out = &compose->cli->out;
    if (question->semiring) {
        style_text(&compose->style, out, check->holds ? COLOR_GOOD : COLOR_BAD,
                   check->holds ? "best path" : "no path");
        output_format(out, " to %s (%s)", question->formula,
                      compose_semiring_text(question->semiring));
        if (check->holds)
            output_format(out, ": %.15g", check->cost);
        output_char(out, '\n');
        return;
    }
    style_text(&compose->style, out, check->holds ? COLOR_GOOD : COLOR_BAD,
               check->holds ? "holds" : "does not hold");
    output_format(out, ": %s ", question->formula);
    if (question->linear)
        output_format(out, "%s\n", of_runs[question->fairness]);
    else
        output_format(out, "(it does in %llu of %u states)\n", (unsigned long long)check->states,
                      gordian_graph_states(graph));
}

static gordian_status print_check(struct compose *compose, const struct composed *composed,
                                  gordian_error *error)
{
    const gordian_check *check = &composed->check;
    const gordian_graph *graph = composed->product ? composed->product : composed->subject->graph;
    struct output *out = &compose->cli->out;
    struct route trace;
    if (!route_open(&trace) || !route_of_arcs(&trace, graph, check->path, check->path_count)) {
        route_close(&trace);
        return fail_memory(error);
    }
    write_answer(compose, check, graph);
    if (trace.steps > 0 && !compose->question.semiring)
        output_text(out, check->holds ? "  witness:\n" : "  counterexample:\n");
    write_priced(compose, &trace, check->costs);
    bool fine = route_of_arcs(&trace, graph, check->cycle, check->cycle_count);
    if (fine && check->cycle_count > 0) {
        output_text(out, check->path_count ? "  and then forever:\n"
                         : check->holds    ? "  witness, forever:\n"
                                           : "  counterexample, forever:\n");
        write_steps(compose, &trace);
    } else if (check->dead_end) {
        output_text(out, check->path_count ? "  and then no transition is possible\n"
                                           : "  no transition is possible from the start\n");
    }
    output_char(out, '\n');
    route_close(&trace);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ the summary */

static void write_size(struct compose *compose, const char *what, const gordian_graph *graph)
{
    struct output *out = &compose->cli->out;
    if (!graph)
        return;
    output_format(out, "%s: ", what);
    write_counted(out, gordian_graph_states(graph), "state", "states");
    output_text(out, ", ");
    write_counted(out, gordian_graph_transitions(graph), "transition", "transitions");
    output_char(out, '\n');
}

static void write_engine(struct compose *compose, const struct composed *composed)
{
    struct output *out = &compose->cli->out;
    const gordian_compose_result *result = &composed->result;
    output_format(out, " (%s", result->engine);
    if (composed->seconds >= 1 || compose->cli->verbose)
        output_format(out, ", %.3g s", composed->seconds);
    if (compose->cli->verbose && result->memory)
        output_format(out, ", %.3g MB", (double)result->memory / 1e6);
    if (compose->cli->verbose && composed->seconds > 0)
        output_format(out, ", %.3g million states/s",
                      (double)result->states / 1e6 / composed->seconds);
    output_text(out, ")\n");
}

static gordian_status print_summary(struct compose *compose, const struct composed *composed,
                                    gordian_error *error)
{
    struct output *out = &compose->cli->out;
    const gordian_compose_result *result = &composed->result;
    bool complete = composed_is_complete(composed);
    (void)error;
    style_name(&compose->style, out, COLOR_STRONG, subject_title(composed->subject));
    bool cut = composed->subject->cut || result->stop == GORDIAN_COMPOSE_STOP_CUT;
    output_text(out, complete ? ": "
                     : cut    ? ", in the part of the file that was read: "
                              : ", in the part that was composed: ");
    write_counted(out, result->states, "state", "states");
    if (composed->counted) {
        output_text(out, ", ");
        write_counted(out, result->transitions, "transition", "transitions");
    }
    output_text(out, result->deadlocks == 0 && !complete ? "; " : ", ");
    if (result->deadlocks == 0 && !complete) {
        output_text(out, "deadlocks: none found in ");
        write_counted(out, result->states, "state", "states");
        output_text(out, ", search incomplete");
    } else if (result->deadlocks == 0) {
        style_text(&compose->style, out, COLOR_GOOD, "no deadlock");
    } else {
        style_color(&compose->style, out, COLOR_BAD);
        write_counted(out, result->deadlocks, "deadlock", "deadlocks");
        style_color(&compose->style, out, COLOR_PLAIN);
    }
    write_engine(compose, composed);
    write_size(compose, "hidden", composed->hidden);
    write_size(compose, "minimal", composed->minimal);
    return GORDIAN_OK;
}

static void write_play(struct compose *compose, const gordian_difference *found)
{
    struct output *out = &compose->cli->out;
    for (size_t i = 0; i < found->count; i++) {
        bool last = i + 1 == found->count;
        output_format(out, "    %4zu  the %s one does ", i + 1,
                      found->by_left[i] ? "first" : "second");
        write_label(compose, found->labels[i]);
        output_format(out, last ? ", which the %s one cannot\n" : ", and so does the %s one\n",
                      found->by_left[i] ? "second" : "first");
    }
}

static gordian_status print_difference(struct compose *compose, const struct composed sides[2],
                                       const gordian_difference *found, gordian_error *error)
{
    struct output *out = &compose->cli->out;
    (void)error;
    if (!found) {
        style_text(&compose->style, out, COLOR_GOOD, "equal");
        output_text(out, " up to bisimulation\n");
    } else {
        style_text(&compose->style, out, COLOR_BAD, "different");
        output_text(out, ":\n");
        write_play(compose, found);
    }
    write_size(compose, "first", composed_graph(&sides[0]));
    write_size(compose, "second", composed_graph(&sides[1]));
    return GORDIAN_OK;
}

const struct compose_reporter compose_text = {
    print_explanation, print_statistics, print_deadlock, print_unsafe,
    print_livelock,    print_check,      print_summary,  print_difference,
};
