/* States per second of models with published figures, compared with SPIN on the same model: one
 * thread each, in one run, breadth first, without reduction. Philosophers and a ring of buffers;
 * then three classics, rewritten here: Milner's scheduler, the alternating bit protocol over
 * several hops, readers and a writer. */
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"

#include <stdio.h>

/* Cyclers pass a token around. After it has had the token, a cycler starts a task, which ends at
 * any time. */
static const char milner[] =
    "cycler(a!,b!,c?,d!) { #CA i* -> t : {c} t -> w : {a} w -> r : {d} w -> p : {b} r -> i : {b} "
    "p -> i : {d} r -> s : {c} s -> t : {b} }"
    "start(a!,b!,c?,d!) { #CA t* -> w : {a} i -> t : {c} w -> r : {d} w -> p : {b} r -> i : {b} "
    "p -> i : {d} r -> s : {c} s -> t : {b} }"
    "main<n:int>() { start(a[0],b[0],c[0],c[1])"
    " { cycler(a[i],b[i],c[i],c[(i+1)%n]) | i:<1..n-1> } }";

/* Channels may lose messages in both directions; what a hop receives it sends on to the next. */
static const char alternating[] =
    "send(i?,x0!,x1!,k0?,k1?) { #CA r0* -> s0 : {i} r0 -> r0 : {k1} s0 -> s0 : {x0} "
    "s0 -> r1 : {k0} s0 -> s0 : {k1} r1 -> s1 : {i} r1 -> r1 : {k0} s1 -> s1 : {x1} "
    "s1 -> r0 : {k1} s1 -> s1 : {k0} }"
    "lossy(x0?,x1?,y0!,y1!,l!) { #CA e* -> f0 : {x0} e -> f1 : {x1} f0 -> e : {y0} "
    "f1 -> e : {y1} f0 -> e : {l} f1 -> e : {l} }"
    "take(y0?,y1?,o!,a0!,a1!) { #CA e0* -> g0 : {y0} e0 -> q1 : {y1} e1 -> g1 : {y1} "
    "e1 -> q0 : {y0} g0 -> q0 : {o} g1 -> q1 : {o} q0 -> e1 : {a0} q1 -> e0 : {a1} }"
    "main<n:int>() { { send(m[i],x[i],z[i],k[i],v[i]) lossy(x[i],z[i],y[i],w[i],l[i])"
    " take(y[i],w[i],m[i+1],a[i],b[i]) lossy(a[i],b[i],k[i],v[i],u[i]) | i:<1..n> } }";

/* A reader needs its own token, the writer all tokens at once. */
static const char readers[] =
    "user(w!,s!,e!) { #CA i* -> w : {w} w -> r : {s} r -> i : {e} }"
    "token(s?,e?,x?,y?) { #CA f* -> r : {s} r -> f : {e} f -> r : {x} r -> f : {y} }"
    "main<n:int>() { { user(w[i],s[i],e[i]) token(s[i],e[i],x,y) | i:<1..n> } user(a,x,y) }";

static uint64_t integer_power(uint64_t base, uint32_t exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= base;
    return power;
}

static const struct model {
    const char *name, *kind, *text; /* a kind of `gordian gen`, or a text */
    uint32_t sizes[COMPOSE_MODEL_SIZES];
} models[] = {
    {"dining", "circuit-dining", NULL, {13, 9, 17, 4}},
    {"ring", "circuit-ring", NULL, {22, 16, 60, 8}},
    {"scheduler", NULL, milner, {15, 9, 20, 4}},
    {"alternating-bit", NULL, alternating, {4, 2, 5, 1}},
    {"readers", NULL, readers, {12, 7, 16, 3}},
};

static gordian_status open_named_model(gordian_circuit **out, const struct model *model,
                                       uint32_t size, gordian_error *error)
{
    char main[32];
    if (model->kind)
        return bench_circuit(out, model->kind, size, 1, NULL, error);
    snprintf(main, sizeof main, "main<%u>", size);
    return bench_circuit_text(out, model->text, main, error);
}

bool compose_model_open(struct compose_model *out, size_t number, enum compose_model_size which,
                        gordian_status *status, gordian_error *error)
{
    if (number >= sizeof models / sizeof *models)
        return false;
    const uint32_t n = models[number].sizes[which];
    /* The number of states, computed by hand; 0: not known. */
    const uint64_t states[] = {integer_power(3, n) - 1, 0, n * integer_power(2, n + 1),
                               integer_power(2, 5 * n + 1),
                               2 * integer_power(3, n) + integer_power(2, n)};
    *out = (struct compose_model){.name = models[number].name, .size = n, .states = states[number]};
    *status = open_named_model(&out->circuit, &models[number], n, error);
    return true;
}

static gordian_status add_model(struct bench *bench, const struct compose_model *model,
                                uint64_t states, const struct bench_side *ours,
                                const struct bench_side *theirs, const char *why)
{
    double count = (double)states;
    struct bench_row row = bench_row("ns", "compose/models/%s-%u/cpu", model->name, model->size);
    bench_fill(&row, ours, count);
    int used =
        snprintf(row.note, sizeof row.note, "per state, %llu states, one thread; %.3g million/s",
                 (unsigned long long)states, count / ours->median * 1e3);
    if (theirs) {
        bench_against(&row, "SPIN", theirs);
        snprintf(row.note + used, sizeof row.note - (size_t)used, ", SPIN %.3g",
                 count / theirs->median * 1e3);
    } else {
        snprintf(row.note + used, sizeof row.note - (size_t)used, "; no SPIN: %s", why);
    }
    return bench_add(bench, &row);
}

static gordian_status measure_model(struct bench *bench, const struct compose_model *model)
{
    struct spin spin;
    struct compose_side cpu = compose_side_of(compose_engine_named("cpu"), model->circuit);
    struct bench_side sides[2] = {{&cpu, compose_side_run}, {&spin, spin_run}};
    struct bench_effort effort = {0, bench->options->quick ? 1 : 3, 15,
                                  bench->options->quick ? 1 : 10};
    bool have_spin = spin_open_circuit(&spin, model->circuit);
    bench_progress(bench, "compose: %s of %u, cpu and SPIN", model->name, model->size);
    cpu.options.count_transitions = false;
    cpu.options.threads = 1;
    cpu.states = model->states;
    gordian_status status = bench_measure(bench, sides, have_spin ? 2 : 1, effort);
    if (status == GORDIAN_OK && have_spin && spin.states != cpu.result.states)
        status = fail(bench->error, GORDIAN_STATUS_INPUT,
                      "%s of %u: SPIN finds %llu states, not %llu", model->name, model->size,
                      (unsigned long long)spin.states, (unsigned long long)cpu.result.states);
    THEN(status, add_model(bench, model, cpu.result.states, &sides[0], have_spin ? &sides[1] : NULL,
                           spin.why));
    if (have_spin)
        spin_close(&spin);
    compose_side_free(&cpu);
    return status;
}

gordian_status compose_models_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    enum compose_model_size which =
        bench->options->quick ? COMPOSE_MODEL_QUICK : COMPOSE_MODEL_USUAL;
    gordian_status status = GORDIAN_OK;
    struct compose_model model;
    for (size_t i = 0; compose->cpu && status == GORDIAN_OK &&
                       compose_model_open(&model, i, which, &status, bench->error);
         i++) {
        THEN(status, measure_model(bench, &model));
        gordian_circuit_close(model.circuit);
    }
    return status;
}
