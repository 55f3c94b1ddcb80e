/*
 * Bounds the execution time of the warps of a kernel. The kernel adds numbers in a loop whose
 * iteration count depends on a parameter. The code becomes a string of letters, one for every cycle
 * of a unit. The search for the worst case uses this string. A second bound, for all paths of the
 * code, needs no search.
 *
 *     cc ptx_string.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/ptx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARPS 2

static const char code[] = ".version 7.0\n"
                           ".target sm_70\n"
                           ".address_size 64\n"
                           ".visible .entry sum(.param .u64 from, .param .u32 n)\n"
                           "{\n"
                           "    .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
                           "    .reg .f32 %f<3>;\n"
                           "    ld.param.u64 %rd1, [from];\n"
                           "    ld.param.u32 %r1, [n];\n"
                           "    mov.u32 %r2, 0;\n"
                           "Next:\n"
                           "    ld.global.f32 %f1, [%rd1];\n"
                           "    add.f32 %f2, %f2, %f1;\n"
                           "    add.u32 %r2, %r2, 1;\n"
                           "    setp.lt.u32 %p1, %r2, %r1;\n"
                           "    @%p1 bra Next;\n"
                           "    ret;\n"
                           "}\n";

static const gordian_unit units[] = {{.letter = 'L', .lanes = 16}, {.letter = 'C', .lanes = 64}};
static const size_t unit_count = sizeof units / sizeof *units;

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "ptx_string: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

/* Without a value for n the loop has no bound. The error has its line. */
static void ask_too_little(gordian_ptx *ptx)
{
    gordian_error error;
    gordian_ptx_answer answer;
    gordian_status status = gordian_ptx_ask(ptx, NULL, &answer, &error);
    printf("without n: %s\n    line %d: %s\n", gordian_status_text(status), (int)error.line,
           error.message);
}

static void ask(gordian_ptx *ptx, const uint64_t weights[GORDIAN_MAKESPAN_TYPES],
                gordian_ptx_answer *answer)
{
    static const gordian_ptx_named n = {"n", 3};
    gordian_error error;
    gordian_ptx_question question;
    gordian_ptx_question_init(&question);
    question.values = &n;
    question.value_count = 1;
    memcpy(question.weights, weights, sizeof question.weights);
    must(gordian_ptx_ask(ptx, &question, answer, &error), &error);
    printf("with n: %s\n", answer->letters);
    for (size_t i = 0; i < answer->note_count; i++)
        printf("    %s\n", answer->notes[i].text);
}

static void bound(const gordian_ptx_answer *answer)
{
    gordian_error error;
    gordian_makespan *makespan;
    gordian_makespan_options options;
    gordian_makespan_answer worst;
    gordian_makespan_problem problem = {.kernel = answer->letters,
                                        .length = answer->count,
                                        .warps = WARPS,
                                        .units = units,
                                        .unit_count = unit_count};
    must(gordian_makespan_open(&makespan, &problem, NULL, &error), &error);
    gordian_makespan_options_init(&options);
    options.engine = "exact";
    must(gordian_makespan_solve(makespan, &options, &worst, &error), &error);
    printf("this path: %u cycles at worst\n", worst.upper);
    gordian_makespan_close(makespan);
}

int main(void)
{
    uint64_t starts[GORDIAN_MAKESPAN_TYPES] = {0}, cycles[GORDIAN_MAKESPAN_TYPES] = {0};
    gordian_error error;
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    for (size_t i = 0; i < unit_count; i++) {
        int letter = units[i].letter - 'A';
        starts[letter] = gordian_unit_starts(&units[i], 0, &cycles[letter]);
    }
    must(gordian_ptx_open(&ptx, code, strlen(code), NULL, &error), &error);
    ask_too_little(ptx);
    ask(ptx, cycles, &answer);
    bound(&answer);
    printf("any path: %d cycles at most\n", (int)gordian_ptx_any_path(&answer, starts, 0, WARPS));
    gordian_ptx_close(ptx);
    return 0;
}
