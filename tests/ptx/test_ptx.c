/* Reading PTX: strings of known programs, loops that count, calls, and everything that is refused.
 */
#include "alloc/failing.h"
#include "engines/ptx/ptx_internal.h"
#include "ptx_test.h"

#include <stdlib.h>

#define HEAD                                                                                       \
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"         \
    ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;\n"

/* ------------------------------------------------------------------ strings */

struct string_case {
    const char *body, *path, *loops, *values, *wanted;
};

/* "NAME=N,NAME=N"; the names are in `room`. */
static size_t split(const char *text, gordian_ptx_named *list, char room[200])
{
    size_t count = 0;
    char *rest = strcpy(room, text ? text : ""), *item;
    while (*rest && (item = strtok_r(rest, ",", &rest))) {
        list[count].name = strtok_r(item, "=", &item);
        list[count++].value = strtoull(item, NULL, 10);
    }
    return count;
}

static const struct string_case strings[] = {
    {"ld.global.f32 %f1, [%rd1]; add.f32 %f1, %f1, %f1; sin.approx.f32 %f2, %f1; ret;", NULL, NULL,
     NULL, "LCCSC"},
    {"fma.rn.f64 %rd1, %rd1, %rd1, %rd1; exit;", NULL, NULL, NULL, "DC"},
    /* the longer side of a branch; the other one; neither taken */
    {"@%p1 bra A; add.f32 %f1, %f1, %f1; bra B; A: ld.global.f32 %f1, [%rd1]; "
     "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f1, [%rd1]; B: ret;",
     NULL, NULL, NULL, "CLLLC"},
    {"@%p1 bra A; add.f32 %f1, %f1, %f1; bra B; A: ld.global.f32 %f1, [%rd1]; B: ret;", "A", NULL,
     NULL, "CLC"},
    {"@%p1 bra A; add.f32 %f1, %f1, %f1; bra B; A: ld.global.f32 %f1, [%rd1]; B: ret;", "fall",
     NULL, NULL, "CCCC"},
    /* bounds given; bounds found */
    {"T: ld.global.f32 %f1, [%rd1]; @%p1 bra T; ret;", NULL, "T=3", NULL, "LCLCLCC"},
    {"T: ld.global.f32 %f1, [%rd1]; @%p1 bra T; ret;", NULL, "k/1=2", NULL, "LCLCC"},
    {"T: ld.global.f32 %f1, [%rd1]; @%p1 bra T; ret;", "T,T", NULL, NULL, "LCLCC"},
    {"mov.u32 %r1, 0; T: ld.global.f32 %f1, [%rd1]; add.u32 %r1, %r1, 1; "
     "setp.lt.u32 %p1, %r1, 2; @%p1 bra T; ret;",
     NULL, NULL, NULL, "CLCCCLCCCC"},
    {"mov.u32 %r1, 2; T: setp.eq.s32 %p1, %r1, 0; @%p1 bra E; st.global.f32 [%rd1], %f1; "
     "add.s32 %r1, %r1, -1; bra T; E: ret;",
     NULL, NULL, NULL, "CCCLCCCCLCCCCC"},
    {"ld.param.u32 %r2, [n]; mov.u32 %r1, 0; T: add.u32 %r1, %r1, 5; setp.ge.u32 %p1, %r1, %r2; "
     "@!%p1 bra T; ret;",
     NULL, NULL, "n=11", "LCCCCCCCCCCC"},
    {"ld.param.u32 %r2, [n]; mov.u32 %r1, 0; T: add.u32 %r1, %r1, 5; setp.ge.u32 %p1, %r1, %r2; "
     "@!%p1 bra T; ret;",
     NULL, NULL, "0=5", "LCCCCC"},
    {"mov.u32 %r1, %tid.x; T: add.u32 %r1, %r1, %ntid.x; setp.lt.u32 %p1, %r1, 64; @%p1 bra T; "
     "ret;",
     NULL, NULL, "%tid.x=0,%ntid.x=32", "CCCCCCCC"},
    {"mov.u32 %r1, 1; T: shl.b32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 16; @%p1 bra T; ret;", NULL,
     NULL, NULL, "CCCCCCCCCCCCCC"},
    /* counts of which only a bound is known: what nvcc leaves over when it unrolls */
    {"ld.param.u32 %r2, [n]; and.b32 %r1, %r2, 3; setp.eq.s32 %p1, %r1, 0; @%p1 bra E; "
     "T: ld.global.f32 %f1, [%rd1]; add.s32 %r1, %r1, -1; setp.ne.s32 %p2, %r1, 0; @%p2 bra T; "
     "E: ret;",
     NULL, NULL, NULL, "LCCCLCCCLCCCLCCCC"},
    {"ld.param.u32 %r2, [n]; shr.u32 %r1, %r2, 31; setp.ne.s32 %p1, %r1, 0; @!%p1 bra E; "
     "T: ld.global.f32 %f1, [%rd1]; add.s32 %r1, %r1, -1; setp.ne.s32 %p2, %r1, 0; @%p2 bra T; "
     "E: ret;",
     NULL, NULL, NULL, "LCCCLCCCC"},
    {"ld.param.u32 %r2, [n]; min.u32 %r3, %r2, 2; mov.u32 %r1, 0; T: setp.ge.u32 %p1, %r1, %r3; "
     "@%p1 bra E; ld.global.f32 %f1, [%rd1]; add.u32 %r1, %r1, 1; bra T; E: ret;",
     NULL, NULL, NULL, "LCCCCLCCCCLCCCCC"},
    /* the second way out comes first */
    {"mov.u32 %r1, 0; T: add.u32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 2; @%p1 bra E; "
     "setp.lt.u32 %p2, %r1, 9; @%p2 bra T; E: ret;",
     NULL, NULL, NULL, "CCCCCCCCCCCC"},
    /* a loop never entered is gone round */
    {"@%p1 bra E; T: ld.global.f32 %f1, [%rd1]; @%p2 bra T; E: ret;", NULL, "T=0", NULL, "CC"},
    /* labels of inner scopes, vectors, guards, strange but legal spellings */
    {"{.reg.b32 t;.reg.f32.v2 v; mov.u32 t, 1;.shared.align.4.b8 s[4]; ret;}", NULL, NULL, NULL,
     "CC"},
    {"{ .reg .b32 t; L: mov.u32 t, 1; } { L: mov.u32 %r1, 0x1F; } "
     "@!%p1 ld.global.v2.f32 {%f1,%f2}, [%rd1+-8]; shfl.sync.down.b32 %r2|%p2, %r1, 1, 31, -1; "
     "cp.async.ca.shared::cta.global [%r1], [%rd1], 16; ret;",
     NULL, NULL, NULL, "CCLLLLLLLC"},
    {"brx.idx %r1, T; A: ld.global.f32 %f1, [%rd1]; B: ret; T: .branchtargets A, B;", NULL, NULL,
     NULL, "CLC"},
    {"brx.idx %r1, T; A: ld.global.f32 %f1, [%rd1]; B: ret; T: .branchtargets A, B;", "B", NULL,
     NULL, "CC"},
};

static void test_strings(void)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        char code[4000], room[2][200];
        gordian_ptx_named loops[8], values[8];
        gordian_ptx_question question = {.path = strings[i].path, .loops = loops, .values = values};
        gordian_ptx *ptx;
        gordian_ptx_answer answer;
        gordian_error error = {0};
        question.loop_count = split(strings[i].loops, loops, room[0]);
        question.value_count = split(strings[i].values, values, room[1]);
        snprintf(code, sizeof code, "%s%s\n}\n", HEAD, strings[i].body);
        gordian_status status = ask(code, &question, NULL, &ptx, &answer, &error);
        CHECK_MSG(status == GORDIAN_OK, "%zu: line %d: %s", i, (int)error.line, error.message);
        if (status != GORDIAN_OK)
            continue;
        CHECK_MSG(strcmp(answer.letters, strings[i].wanted) == 0, "%zu: %s instead of %s", i,
                  answer.letters, strings[i].wanted);
        CHECK(answer.every_path == (!strings[i].path));
        gordian_ptx_close(ptx);
    }
}

/* ------------------------------------------------------------------ calls */

static const char *const calls =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .f32 %f<3>; .reg .b64 %rd<2>;\n"
    "ld.global.f32 %f1, [%rd1];\nret;\n}\n"
    ".extern .func vprintf;\n"
    ".entry k()\n{\n.reg .b32 %r<3>;\n{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], %r1;\n"
    "call.uni (q), twice, (p);\nld.param.b32 %r2, [q];\n}\ncall twice;\nret;\n}\n"
    ".entry other()\n{\ncall vprintf;\nret;\n}\n";

static void test_calls(void)
{
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_ptx_question question = {.entry = "k"};
    CHECK(ask(calls, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LCLCLCLCC") == 0, "%s", answer.letters);
    gordian_ptx_close(ptx);
    question.path = "fall";
    CHECK(ask(calls, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LCLCLCLCC") == 0, "%s", answer.letters);
    gordian_ptx_close(ptx);
    gordian_ptx_call print = {"vprintf", "SS"};
    question = (gordian_ptx_question){.entry = "other", .calls = &print, .call_count = 1};
    CHECK(ask(calls, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "SSC") == 0, "%s", answer.letters);
    gordian_ptx_close(ptx);
}

/* ------------------------------------------------------------------ bounds of what is not known */

/* Passes of the only D of the kernel; 0: refused. */
static size_t count_passes(const char *body, const char *values, char *message, size_t size)
{
    char code[4000], room[200];
    gordian_ptx_named list[8];
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_ptx_question question = {.values = list, .value_count = split(values, list, room)};
    size_t passes = 0;
    snprintf(code, sizeof code, "%s%s\n}\n", HEAD, body);
    if (ask(code, &question, NULL, &ptx, &answer, &error) != GORDIAN_OK) {
        snprintf(message, size, "%s", error.message);
        return 0;
    }
    message[0] = '\0';
    for (size_t i = 0; i < answer.note_count; i++)
        snprintf(message + strlen(message), size - strlen(message), "%s\n", answer.notes[i].text);
    for (size_t i = 0; i < answer.count; i++)
        passes += answer.letters[i] == 'D';
    gordian_ptx_close(ptx);
    return passes;
}

/* The most rounds of a loop that is entered with one of 0 to `last` and counts down by `step`, or
 * up to it; the plainest way there is. */
static size_t most_rounds(uint32_t last, uint32_t step, bool down, bool guarded)
{
    size_t most = 0;
    for (uint32_t value = 0; value <= last; value++) {
        size_t rounds = 0;
        if (down && guarded && value == 0)
            continue;
        if (down) {
            uint32_t left = value;
            do {
                rounds++;
                left = left < step ? 0 : left - step;
            } while (left != 0);
        } else {
            for (uint32_t i = 0; i < value; i += step)
                rounds++;
        }
        most = rounds > most ? rounds : most;
    }
    return most;
}

static void test_bounded(void)
{
    static const struct {
        const char *code; /* of %r1, with one number */
        uint32_t number, last;
    } makers[] = {
        {"and.b32 %%r1, %%r2, %u;", 3, 3},  {"and.b32 %%r1, %%r2, %u;", 12, 12},
        {"rem.u32 %%r1, %%r2, %u;", 5, 4},  {"shr.u32 %%r1, %%r2, %u;", 29, 7},
        {"min.u32 %%r1, %%r2, %u;", 9, 9},  {"bfe.u32 %%r1, %%r2, 3, %u;", 2, 3},
        {"shr.b32 %%r1, %%r2, %u;", 30, 3},
    };
    char body[1000], maker[100], message[1000];
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        snprintf(maker, sizeof maker, makers[i].code, makers[i].number);
        for (uint32_t step = 1; step <= 3; step++) {
            snprintf(body, sizeof body,
                     "ld.param.u32 %%r2, [n]; %s mov.u32 %%r3, 0; T: setp.ge.u32 %%p1, %%r3, %%r1; "
                     "@%%p1 bra E; fma.rn.f64 %%rd1, %%rd1, %%rd1, %%rd1; add.u32 %%r3, %%r3, %u; "
                     "bra T; E: ret;",
                     maker, step);
            size_t passes = count_passes(body, "", message, sizeof message);
            size_t wanted = most_rounds(makers[i].last, step, false, false);
            CHECK_MSG(passes == wanted && strstr(message, "at most"), "%s %u: %zu, not %zu: %s",
                      maker, step, passes, wanted, message);
        }
        snprintf(body, sizeof body,
                 "ld.param.u32 %%r2, [n]; %s setp.eq.s32 %%p1, %%r1, 0; @%%p1 bra E; T: "
                 "fma.rn.f64 %%rd1, %%rd1, %%rd1, %%rd1; add.s32 %%r1, %%r1, -1; setp.ne.s32 %%p2, "
                 "%%r1, 0; "
                 "@%%p2 bra T; E: ret;",
                 maker);
        size_t passes = count_passes(body, "", message, sizeof message);
        CHECK_MSG(passes == most_rounds(makers[i].last, 1, true, true), "%s: %zu: %s", maker,
                  passes, message);
    }
}

static const char stride[] =
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; "
    "mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [n]; mov.u32 %r6, %nctaid.x; "
    "mul.lo.s32 %r6, %r6, %r2; setp.ge.s32 %p1, %r4, %r5; @%p1 bra E; "
    "T: fma.rn.f64 %rd1, %rd1, %rd1, %rd1; add.s32 %r4, %r4, %r6; setp.lt.s32 %p2, %r4, %r5; @%p2 "
    "bra T; "
    "E: ret;";

/* A loop of the whole launch: thread 0 of block 0 goes round most often. What is not known is
 * named. */
static void test_launch(void)
{
    char message[1000];
    CHECK(count_passes(stride, "n=65,%ntid.x=32,%nctaid.x=1", message, sizeof message) == 3);
    CHECK(count_passes(stride, "n=1000,%ntid.x=32,%nctaid.x=4", message, sizeof message) == 8);
    CHECK_MSG(!strstr(message, "first and last"), "%s", message);
    CHECK(count_passes(stride, "n=100000,%ntid.x=256,%nctaid.x=80", message, sizeof message) == 5);
    CHECK_MSG(strstr(message, "first and last"), "%s", message);
    CHECK(count_passes(stride, "n=65,%ntid.x=32,%nctaid.x=1,%tid.x=1,%ctaid.x=0", message,
                       sizeof message) == 2);
    CHECK(count_passes(stride, "%ntid.x=32,%nctaid.x=1", message, sizeof message) == 0);
    CHECK_MSG(strstr(message, "depends on parameter 0: --set 0=N"), "%s", message);
    CHECK(count_passes(stride, "%laneid=0", message, sizeof message) == 0); /* all at once */
    CHECK_MSG(strstr(message, "parameter 0") && strstr(message, "%nctaid.x=N") &&
                  strstr(message, "0=N") && strstr(message, "%ntid.x=N"),
              "%s", message);
    CHECK(count_passes(stride, "n=65", message, sizeof message) == 0);
    CHECK_MSG(strstr(message, "%ctaid.x") && strstr(message, "%ntid.x=N"), "%s", message);
    /* one thread with which it does not end spoils it, unless it does not come there */
    static const char endless[] =
        "mov.u32 %r1, %laneid; T: fma.rn.f64 %rd1, %rd1, %rd1, %rd1; add.s32 %r1, %r1, -2; "
        "setp.ne.s32 %p1, %r1, 0; @%p1 bra T; ret;";
    CHECK(count_passes(endless, "", message, sizeof message) == 0);
}

/* What is elsewhere and needs no --call; and what never returns. */
static void test_system_calls(void)
{
    char message[1000];
    CHECK(count_passes(
              "@%p1 bra A; fma.rn.f64 %rd1, %rd1, %rd1, %rd1; ret; A: call __assertfail, (%r1); "
              "fma.rn.f64 %rd1, %rd1, %rd1, %rd1; fma.rn.f64 %rd1, %rd1, %rd1, %rd1; ret;",
              "", message, sizeof message) == 1);
    CHECK_MSG(strstr(message, "__assertfail does not return"), "%s", message);
    CHECK(count_passes("call (%r1), vprintf, (%r2); call (%r1), malloc, (%r2); "
                       "fma.rn.f64 %rd1, %rd1, %rd1, %rd1; ret;",
                       "", message, sizeof message) == 1);
    CHECK_MSG(strstr(message, "vprintf counts as L") && strstr(message, "malloc counts as L"), "%s",
              message);
    CHECK(count_passes("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1; "
                       "fma.rn.f64 %rd1, %rd1, %rd1, %rd1; ret;",
                       "", message, sizeof message) == 1);
    CHECK_MSG(strstr(message, "tcgen05.mma counts as the largest"), "%s", message);
}

/* ------------------------------------------------------------------ what is refused */

struct refusal {
    const char *code; /* a whole text if it starts with a dot, else a body */
    unsigned line;    /* of the text; 0: none. A body starts at line 7 */
    const char *word; /* of the message */
};

static const struct refusal refusals[] = {
    {".version 7.0\n", 2, "no kernel"},
    {".version 7.0\n.entry k() {\n", 3, "'}' is missing"},
    {".version 7.0\n.entry k(.param .u32 x {\nret;\n}\n", 2, "')' is missing"},
    {".version 7.0\nnonsense\n", 2, "expected a directive"},
    {".version 7.0\n.global .u32 x\n", 2, "';' is missing"},
    {".entry k() {\nret;\n}\n.entry k() {\nret;\n}\n", 4, "second body"},
    {".entry k() {\n/* no end\n", 2, "comment"},
    {".entry k() {\n\\ }\n", 2, "not allowed in PTX"},
    {".file 1 \"abc\n", 1, "string"},
    {".entry k() {\n}\n", 1, "no instructions"},
    {"add.f32 %f1, %f2, %f3\nret;\n", 8, "before 'ret'"},
    {"add.f32 %f1, %f2, %f3;\nret\n", 8, "';' is missing"},
    {"ld.global.f32 %f1, [%rd1;\nret;\n", 7, "']' is missing"},
    {"mov.f32 %f1, %f9;\nret;\n", 7, "'%f9' is not declared"},
    {"mov.f32 %f1, %x;\nret;\n", 7, "'%x' is not declared"},
    {"@%q bra A;\nA: ret;\n", 7, "not declared"},
    {"@A bra A;\nA: ret;\n", 7, "predicate register"},
    {"ret;\n.reg .b32 %r<0>;\n", 8, "how many"},
    {".reg .b32 %r<3>;\nret;\n", 7, "declared twice"},
    {".unheard .of;\nret;\n", 7, "unknown directive"},
    {"bra Nowhere;\nret;\n", 7, "no label 'Nowhere'"},
    {"bra A, B;\nA: B: ret;\n", 7, "one label"},
    {"A: ret;\nA: ret;\n", 8, "twice"},
    {"brx.idx %r1, A;\nA: ret;\n", 7, "not listed"},
    {"frobnicate.f32 %f1;\nret;\n", 7, "no line of the table"},
    {"T: ld.global.f32 %f1, [%rd1];\n@%p1 bra T;\nret;\n", 7, "no bound"},
    {"T: bra T;\n", 7, "no bound"},
    /* a bound that depends on memory, on a guard, on an inner loop */
    {"ld.global.u32 %r2, [%rd1];\nmov.u32 %r1, 0;\nT: add.u32 %r1, %r1, 1;\n"
     "setp.lt.u32 %p1, %r1, %r2;\n@%p1 bra T;\nret;\n",
     9, "no bound"},
    {"mov.u32 %r1, 0;\nT: @%p2 add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra T;\nret;\n",
     8, "no bound"},
    {"mov.u32 %r1, 0;\nT: add.u32 %r1, %r1, 0;\nsetp.lt.u32 %p1, %r1, 3;\n@%p1 bra T;\nret;\n", 8,
     "no bound"},
    {"mov.u32 %r1, 0;\n@%p3 bra A;\nmov.u32 %r1, 1;\nA: add.u32 %r1, %r1, 1;\n"
     "setp.lt.u32 %p1, %r1, 3;\n@%p1 bra A;\nret;\n",
     10, "no bound"},
    {"@%p1 bra B;\nA: add.f32 %f1, %f1, %f1;\nB: add.f32 %f1, %f1, %f1;\n@%p2 bra A;\nret;\n", 10,
     "entered in the middle"},
    {"call (%r1), %rd1, (%r2), P;\nret;\n", 7, "indirect"},
    {"call away;\nret;\n", 7, "not available"},
    {".func f() {\ncall g;\nret;\n}\n.func g() {\ncall f;\nret;\n}\n.entry k() {\ncall "
     "f;\nret;\n}\n",
     6, "recursion"},
    {".func f();\n.entry k() {\ncall f;\nret;\n}\n", 3, "not available"},
    {".entry a() {\nret;\n}\n.entry b() {\nret;\n}\n", 0, "several kernels"},
    {".section .debug_str\n{\n", 1, "section"},
    {".loc 1 x 3\n", 1, "three numbers"},
    {".file x \"a\"\n", 1, "a number and a name"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char code[4000];
        gordian_ptx_question question = {.entry = NULL};
        gordian_ptx *ptx;
        gordian_ptx_answer answer;
        gordian_error error = {0};
        bool whole =
            refusals[i].code[0] == '.' && refusals[i].code[1] != 'r' && refusals[i].code[1] != 'u';
        snprintf(code, sizeof code, whole ? "%s%s" : "%s%s\n}\n", whole ? "" : HEAD,
                 refusals[i].code);
        gordian_status status = ask(code, &question, NULL, &ptx, &answer, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT, "%zu is taken", i);
        CHECK_MSG(error.line == refusals[i].line, "%zu: line %d: %s", i, (int)error.line,
                  error.message);
        CHECK_MSG(strstr(error.message, refusals[i].word), "%zu: %s", i, error.message);
        if (status == GORDIAN_OK)
            gordian_ptx_close(ptx);
    }
}

static void refuse(const char *code, gordian_ptx_question question, const char *word)
{
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_status status = ask(code, &question, NULL, &ptx, &answer, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, word), "%s: %s", word,
              error.message);
    if (status == GORDIAN_OK)
        gordian_ptx_close(ptx);
}

static void test_bad_questions(void)
{
    const char *code = HEAD "A: add.f32 %f1, %f1, %f1;\nB: @%p1 bra A;\nret;\nC: }\n";
    gordian_ptx_named nowhere = {"Nowhere", 3}, huge = {"A", 40000};
    refuse(code, (gordian_ptx_question){.entry = "x"}, "no kernel 'x'");
    refuse(code, (gordian_ptx_question){.from = "x"}, "no label or loop 'x'");
    refuse(code, (gordian_ptx_question){.to = "x"}, "no label or loop 'x'");
    refuse(code, (gordian_ptx_question){.from = "C", .path = "fall"}, "no instruction after");
    refuse(code, (gordian_ptx_question){.path = "Nowhere"}, "does not reach 'Nowhere'");
    refuse(code, (gordian_ptx_question){.path = "A,A,Nowhere"}, "does not reach 'Nowhere'");
    refuse(code, (gordian_ptx_question){.avoid = "B", .path = "longest"}, "no path ends");
    refuse(HEAD "A: bra A; }\n", (gordian_ptx_question){.path = "fall"}, "does not end");
    gordian_ptx_named both[] = {{"A", 2}, nowhere};
    refuse(code, (gordian_ptx_question){.loops = both, .loop_count = 2}, "no loop is called");
    /* too long for a string, but not for a bound */
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_ptx_question question = {.loops = &huge, .loop_count = 1};
    CHECK(ask(code, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK(!answer.letters && answer.every_path && answer.longest == 80001);
    CHECK(answer.most['C' - 'A'] == 80001 && answer.most['L' - 'A'] == 0);
    gordian_ptx_close(ptx);
}

/* ------------------------------------------------------------------ the table */

static const struct {
    const char *name, *letters;
} known[] = {
    {"ld.global.f32", "L"},
    {"st.shared.v4.u32", "LLLL"},
    {"ld.param.u64", "L"},
    {"ld.global.nc.v2.f64", "LLLL"},
    {"ld.shared.u64", "LL"},
    {"st.param.v4.b32", "L"},
    {"ld.global.v4.u8", "L"},
    {"ld.global.L2::64B.f32", "L"},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "LLLL"},
    {"cp.async.cg.shared.global", "LLLL"},
    {"cp.async.commit_group", "C"},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "L"},
    {"tex.2d.v4.f32.f32", "LLLLLLLL"},
    {"atom.global.cas.b64", "LL"},
    {"atom.global.add.u32", "L"},
    {"add.f32", "C"},
    {"mad.lo.s32", "C"},
    {"add.rn.f64", "D"},
    {"cvt.f64.f32", "S"},
    {"sin.approx.f32", "CS"},
    {"bra.uni", "C"},
    {"rsqrt.approx.ftz.f32", "S"},
    {"add.s64", "CC"},
    {"bar.sync", "C"},
    {"mul.wide.u32", "C"},
    {"setp.lt.s32", "C"},
    {"setp.lt.s64", "CC"},
    {"shfl.sync.bfly.b32", "L"},
    {"popc.b32", "S"},
    {"div.rn.f32", "SCCCCCCCCCC"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "TTTT"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "TT"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "TTTT"},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "TT"},
    {"mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32", "TT"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", "TTTT"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "TTTT"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", "TT"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", "TT"},
    {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "TTTT"},
    {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "T"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "TT"},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "TTTTTTTT"},
    {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "TTTTTTTTTTTTTTTT"},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "TTTT"},
    {"mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", "TTTT"},
    {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "TT"},
    {"mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "TTTT"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "TT"},
    {"mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32", "TTTT"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "LLLL"},
    {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "TTTTTTTT"},
    {"wmma.mma.sync.aligned.row.col.m32n8k16.s32.s8.s8.s32", "TTTT"},
    {"wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", "T"},
    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "TTTT"},
    {"wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e4m3", "TTTTTTTT"},
    {"popc.b64", "SSC"},
    {"rsqrt.approx.f32", "SCCC"},
    {"rsqrt.approx.ftz.f64", "SC"},
    {"setp.lt.f64", "D"},
    {"set.lt.u32.f32", "CC"},
    {"vadd4.u32.u32.u32.sat", "CCCCCC"},
    {"div.u16", "SSSSCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"},
    {"ex2.approx.ftz.bf16x2", "SS"},
    {"wgmma.fence.sync.aligned", "C"},
};

static void test_table(void)
{
    gordian_error error = {0};
    gordian_ptx_table *table;
    REQUIRE(gordian_ptx_table_open(&table, NULL, &error) == GORDIAN_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *letters = ptx_table_find(table, known[i].name, strlen(known[i].name));
        CHECK_MSG(letters && strcmp(letters, known[i].letters) == 0, "%s: %s", known[i].name,
                  letters ? letters : "nothing");
    }
    /* The largest, and one whose size its name does not tell. */
    const char *large = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16";
    CHECK(strspn(ptx_table_find(table, large, strlen(large)), "T") == 128);
    const char *product = ptx_table_find(table, "tcgen05.mma.cta_group::1.kind::f16", 34);
    CHECK(product && strlen(product) == 1024 && strspn(product, "T") == 1024);
    CHECK(ptx_table_find(table, "frob.f32", 8) == NULL);
    CHECK(gordian_ptx_table_add(table, "frob.f64", "S2C11L1", &error) == GORDIAN_OK);
    CHECK(strcmp(ptx_table_find(table, "frob.f64", 8), "SSCCCCCCCCCCCL") == 0);
    CHECK(gordian_ptx_table_add(table, "a", "C0", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "a", "C1000D57", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "a", "C99999999999999999999", &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "a", "2C", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "a", "--", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "f*o*.f32", "XY", &error) == GORDIAN_OK);
    CHECK(gordian_ptx_table_add(table, "bra*", "-", &error) == GORDIAN_OK);
    CHECK(strcmp(ptx_table_find(table, "frob.f32", 8), "XY") == 0);
    CHECK(strcmp(ptx_table_find(table, "bra.uni", 7), "") == 0);
    CHECK(gordian_ptx_table_add(table, "a", "x", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "a", "", &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_ptx_table_add(table, "", "C", &error) == GORDIAN_STATUS_INPUT);
    gordian_ptx_table_close(table);
}

/* ------------------------------------------------------------------ files, memory, the own kernel
 */

static char *read_file(const char *path)
{
    static char text[100000];
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    return text;
}

static void test_voronoi(void)
{
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    const char *code = read_file(DATA "/ptx/voronoi.ptx");
    gordian_ptx_question question = {.to = "Again"};
    CHECK(ask(code, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LLLLLCCCCCCCCCLLCCCCCCCCC") == 0, "%s", answer.letters);
    gordian_ptx_close(ptx);
    gordian_ptx_named loop = {"Loop", 3};
    question = (gordian_ptx_question){.loops = &loop, .loop_count = 1};
    CHECK(ask(code, &question, NULL, &ptx, &answer, &error) == GORDIAN_OK);
    CHECK(answer.count == 7 + 5 + 2 * 14 + 2 + 1); /* twice round, and out */
    gordian_ptx_close(ptx);
}

static void test_allocations(void)
{
    char code[4000];
    snprintf(code, sizeof code,
             "%smov.u32 %%r1, 0; T: ld.global.f32 %%f1, [%%rd1]; U: @%%p2 bra U; "
             "add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, 3; @%%p1 bra T; call twice; ret;\n}\n"
             ".func twice() {\nret;\n}\n",
             HEAD);
    gordian_ptx_named loop = {"U", 2};
    gordian_ptx_question question = {.loops = &loop, .loop_count = 1};
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    for (size_t at = 1;; at++) {
        gordian_ptx *ptx;
        gordian_ptx_answer answer;
        gordian_error error = {0};
        failing = (struct failing){.fail_at = at};
        gordian_status status = ask(code, &question, &allocator, &ptx, &answer, &error);
        if (status == GORDIAN_OK) {
            CHECK(failing.failures == 0);
            CHECK_MSG(strcmp(answer.letters, "CLCCCCLCCCCLCCCCCCC") != 0 && answer.count > 10, "%s",
                      answer.letters);
            gordian_ptx_close(ptx);
            CHECK(failing.live_blocks == 0);
            CHECK(at > 20);
            break;
        }
        CHECK_MSG(status == GORDIAN_STATUS_MEMORY, "%zu: %s", at, error.message);
        CHECK_MSG(failing.live_blocks == 0, "%zu leaks", at);
    }
}

/* Every loop of the kernel that the build keeps has a bound, for every event; more to do is not
 * less. */
static void test_own(void)
{
    gordian_ptx *own;
    gordian_error error = {0};
    gordian_ptx_event event = GORDIAN_PTX_EVENT_GRANT;
    gordian_status status = gordian_ptx_open_own(&own, NULL, &error);
    CHECK(status == (ptx_own_size ? GORDIAN_OK : GORDIAN_STATUS_UNAVAILABLE));
    CHECK((own == NULL) == (status != GORDIAN_OK));
    for (; own && gordian_ptx_event_text(event); event++) {
        uint64_t before = 0;
        for (uint32_t count = 64; count <= 65536; count *= 32) {
            gordian_ptx_question question;
            gordian_ptx_answer answer;
            gordian_ptx_question_init(&question);
            gordian_ptx_own_question(own, event, count, count, 132, &question);
            status = gordian_ptx_ask(own, &question, &answer, &error);
            CHECK_MSG(status == GORDIAN_OK, "%s: %s", gordian_ptx_event_text(event), error.message);
            if (status != GORDIAN_OK)
                break;
            CHECK(answer.every_path && answer.longest > 50 && answer.longest >= before);
            before = answer.longest;
        }
    }
    CHECK(!own || event == GORDIAN_PTX_EVENT_REBUILD + 1);
    CHECK(!strstr(ptx_own, "/src/")); /* where it was built is nobody's business */
    gordian_ptx_close(own);
}

/* One module, many questions: answers do not depend on those before, and one that fails leaves the
 * answer of the caller alone. */
static void test_again(void)
{
    const char *code = HEAD "T: ld.global.f32 %f1, [%rd1];\n@%p1 bra T;\nret;\n}\n";
    gordian_ptx *ptx;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    gordian_ptx_named loop = {"T", 500};
    gordian_ptx_question question = {.loops = &loop, .loop_count = 1};
    REQUIRE(gordian_ptx_open(&ptx, code, strlen(code), NULL, &error) == GORDIAN_OK);
    CHECK(gordian_ptx_ask(ptx, &question, &answer, &error) == GORDIAN_OK);
    CHECK(answer.count == 1001 && answer.note_count == 1);
    CHECK(gordian_ptx_ask(ptx, NULL, &answer, &error) == GORDIAN_STATUS_INPUT);
    CHECK(answer.count == 1001);
    question = (gordian_ptx_question){.path = "fall"};
    CHECK(gordian_ptx_ask(ptx, &question, &answer, &error) == GORDIAN_OK);
    CHECK(strcmp(answer.letters, "LCC") == 0 && answer.lines[2] == 9 && answer.note_count == 1);
    question = (gordian_ptx_question){.only_loops = true};
    CHECK(gordian_ptx_ask(ptx, &question, &answer, &error) == GORDIAN_OK);
    CHECK(!answer.letters && answer.count == 0 && answer.note_count == 1);
    CHECK_MSG(answer.notes[0].line == 7 && strstr(answer.notes[0].text, "no bound"), "%s",
              answer.notes[0].text);
    size_t length;
    const char *name = gordian_ptx_entry(ptx, 0, &length);
    CHECK(name && length == 1 && *name == 'k' && !gordian_ptx_entry(ptx, 1, &length));
    gordian_ptx_close(ptx);
    CHECK(gordian_ptx_open(&ptx, "a\0b", 3, NULL, &error) == GORDIAN_STATUS_INPUT && !ptx);
    CHECK(error.line == 1 && error.column == 2);
}

static ptrdiff_t read_text(void *context, char *buffer, size_t size)
{
    const char **rest = context;
    size_t length = strlen(*rest), count = length < size ? length : size;
    count = count > 7 ? 7 : count; /* in pieces */
    memcpy(buffer, *rest, count);
    *rest += count;
    return (ptrdiff_t)count;
}

/* A module and a table, both from sources. */
static void test_sources(void)
{
    const char *code = HEAD "frob.f32 %f1, %f2;\nret;\n}\n", *lines = "# mine\nfrob.* S2\n";
    const char *wrong = "ret -\nfrob.f32\n";
    gordian_source of_code = {read_text, &code}, of_lines = {read_text, &lines};
    gordian_source of_wrong = {read_text, &wrong};
    gordian_ptx *ptx;
    gordian_ptx_table *table;
    gordian_ptx_answer answer;
    gordian_error error = {0};
    REQUIRE(gordian_ptx_read(&ptx, &of_code, NULL, &error) == GORDIAN_OK);
    REQUIRE(gordian_ptx_table_open(&table, NULL, &error) == GORDIAN_OK);
    CHECK(gordian_ptx_table_read(table, &of_lines, &error) == GORDIAN_OK);
    gordian_ptx_question question = {.table = table};
    CHECK(gordian_ptx_ask(ptx, &question, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "SSC") == 0, "%s", answer.letters);
    CHECK(gordian_ptx_table_read(table, &of_wrong, &error) == GORDIAN_STATUS_INPUT);
    CHECK(error.line == 2 && error.column == 1);
    gordian_ptx_table_close(table);
    gordian_ptx_close(ptx);
}

int main(void)
{
    test_strings();
    test_calls();
    test_refusals();
    test_bad_questions();
    test_bounded();
    test_launch();
    test_system_calls();
    test_table();
    test_voronoi();
    test_allocations();
    test_own();
    test_again();
    test_sources();
    return test_done();
}
