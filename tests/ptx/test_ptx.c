/* Reading PTX: strings of known programs, loops that count, calls, and everything that is refused.
 */
#include "alloc/failing.h"
#include "ptx/own.h"
#include "ptx_test.h"

#include <stdlib.h>

#define HEAD                                                                                       \
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"         \
    ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;\n"

/* ------------------------------------------------------------------ strings */

struct string_case {
    const char *body, *path, *loops, *values, *wanted;
};

static size_t split(const char *text, struct ptx_named *list)
{
    size_t count = 0;
    while (text && *text) {
        list[count].name = text;
        list[count].length = strcspn(text, "=");
        list[count].value = strtoull(text + list[count].length + 1, NULL, 10);
        count++;
        text += strcspn(text, ",");
        text += *text == ',';
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
        char code[4000];
        struct ptx_named loops[8], values[8];
        struct ptx_question question = {.path = strings[i].path, .loops = loops, .values = values};
        struct ptx_answer answer;
        gordian_error error = {0};
        question.loop_count = split(strings[i].loops, loops);
        question.value_count = split(strings[i].values, values);
        snprintf(code, sizeof code, "%s%s\n}\n", HEAD, strings[i].body);
        gordian_status status = ask(code, &question, NULL, &answer, &error);
        CHECK_MSG(status == GORDIAN_OK, "%zu: line %d: %s", i, (int)error.line, error.message);
        if (status != GORDIAN_OK)
            continue;
        CHECK_MSG(strcmp(answer.letters, strings[i].wanted) == 0, "%zu: %s instead of %s", i,
                  answer.letters, strings[i].wanted);
        CHECK(answer.every_path == (!strings[i].path));
        ptx_answer_free(&answer);
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
    struct ptx_answer answer;
    gordian_error error = {0};
    struct ptx_question question = {.entry = "k"};
    CHECK(ask(calls, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LCLCLCLCC") == 0, "%s", answer.letters);
    ptx_answer_free(&answer);
    question.path = "fall";
    CHECK(ask(calls, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LCLCLCLCC") == 0, "%s", answer.letters);
    ptx_answer_free(&answer);
    struct ptx_code print = {"vprintf", 7, "SS"};
    question = (struct ptx_question){.entry = "other", .calls = &print, .call_count = 1};
    CHECK(ask(calls, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "SSC") == 0, "%s", answer.letters);
    ptx_answer_free(&answer);
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
    {".entry k() {\n\\ }\n", 2, "not a character"},
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
    {"call away;\nret;\n", 7, "not here"},
    {".func f() {\ncall g;\nret;\n}\n.func g() {\ncall f;\nret;\n}\n.entry k() {\ncall "
     "f;\nret;\n}\n",
     6, "recursion"},
    {".func f();\n.entry k() {\ncall f;\nret;\n}\n", 3, "not here"},
    {".entry a() {\nret;\n}\n.entry b() {\nret;\n}\n", 0, "which kernel"},
    {".section .debug_str\n{\n", 1, "section"},
    {".loc 1 x 3\n", 1, "three numbers"},
    {".file x \"a\"\n", 1, "a number and a name"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char code[4000];
        struct ptx_question question = {.entry = NULL};
        struct ptx_answer answer;
        gordian_error error = {0};
        bool whole =
            refusals[i].code[0] == '.' && refusals[i].code[1] != 'r' && refusals[i].code[1] != 'u';
        snprintf(code, sizeof code, whole ? "%s%s" : "%s%s\n}\n", whole ? "" : HEAD,
                 refusals[i].code);
        gordian_status status = ask(code, &question, NULL, &answer, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT, "%zu is taken", i);
        CHECK_MSG(error.line == refusals[i].line, "%zu: line %d: %s", i, (int)error.line,
                  error.message);
        CHECK_MSG(strstr(error.message, refusals[i].word), "%zu: %s", i, error.message);
        if (status == GORDIAN_OK)
            ptx_answer_free(&answer);
    }
}

static void refuse(const char *code, struct ptx_question question, const char *word)
{
    struct ptx_answer answer;
    gordian_error error = {0};
    gordian_status status = ask(code, &question, NULL, &answer, &error);
    CHECK_MSG(status == GORDIAN_STATUS_INPUT && strstr(error.message, word), "%s: %s", word,
              error.message);
    if (status == GORDIAN_OK)
        ptx_answer_free(&answer);
}

static void test_bad_questions(void)
{
    const char *code = HEAD "A: add.f32 %f1, %f1, %f1;\nB: @%p1 bra A;\nret;\nC: }\n";
    struct ptx_named nowhere = {"Nowhere", 7, 3}, huge = {"A", 1, 40000};
    refuse(code, (struct ptx_question){.entry = "x"}, "no kernel 'x'");
    refuse(code, (struct ptx_question){.from = "x"}, "no label or loop 'x'");
    refuse(code, (struct ptx_question){.to = "x"}, "no label or loop 'x'");
    refuse(code, (struct ptx_question){.from = "C", .path = "fall"}, "nothing comes after");
    refuse(code, (struct ptx_question){.path = "Nowhere"}, "does not come to 'Nowhere'");
    refuse(code, (struct ptx_question){.path = "A,A,Nowhere"}, "does not come to 'Nowhere'");
    refuse(code, (struct ptx_question){.avoid = "B", .path = "longest"}, "no path ends");
    refuse(HEAD "A: bra A; }\n", (struct ptx_question){.path = "fall"}, "does not end");
    struct ptx_named both[] = {{"A", 1, 2}, nowhere};
    refuse(code, (struct ptx_question){.loops = both, .loop_count = 2}, "no loop is called");
    /* too long for a string, but not for a bound */
    struct ptx_answer answer;
    gordian_error error = {0};
    struct ptx_question question = {.loops = &huge, .loop_count = 1};
    CHECK(ask(code, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK(!answer.letters && answer.every_path && answer.longest == 80001);
    CHECK(answer.most['C' - 'A'] == 80001 && answer.most['L' - 'A'] == 0);
    ptx_answer_free(&answer);
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
    struct ptx_table *table;
    REQUIRE(ptx_table_open(&table, NULL, &error) == GORDIAN_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *letters = ptx_table_find(table, known[i].name, strlen(known[i].name));
        CHECK_MSG(letters && strcmp(letters, known[i].letters) == 0, "%s: %s", known[i].name,
                  letters ? letters : "nothing");
    }
    /* The largest, and one whose size its name does not tell. */
    const char *large = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16";
    CHECK(strspn(ptx_table_find(table, large, strlen(large)), "T") == 128);
    CHECK(ptx_table_find(table, "tcgen05.mma.cta_group::1.kind::f16", 34) == NULL);
    CHECK(ptx_table_find(table, "frob.f32", 8) == NULL);
    CHECK(ptx_table_add_line(table, "frob.f64", 8, "S2C11L1", 7, &error) == GORDIAN_OK);
    CHECK(strcmp(ptx_table_find(table, "frob.f64", 8), "SSCCCCCCCCCCCL") == 0);
    CHECK(ptx_table_add_line(table, "a", 1, "C0", 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "a", 1, "C200D57", 7, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "a", 1, "C99999999999999999999", 21, &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "a", 1, "2C", 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "a", 1, "--", 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "f*o*.f32", 8, "XY", 2, &error) == GORDIAN_OK);
    CHECK(ptx_table_add_line(table, "bra*", 4, "-", 1, &error) == GORDIAN_OK);
    CHECK(strcmp(ptx_table_find(table, "frob.f32", 8), "XY") == 0);
    CHECK(strcmp(ptx_table_find(table, "bra.uni", 7), "") == 0);
    CHECK(ptx_table_add_line(table, "a", 1, "x", 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "a", 1, "", 0, &error) == GORDIAN_STATUS_INPUT);
    CHECK(ptx_table_add_line(table, "", 0, "C", 1, &error) == GORDIAN_STATUS_INPUT);
    ptx_table_close(table);
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
    struct ptx_answer answer;
    gordian_error error = {0};
    const char *code = read_file(DATA "/ptx/voronoi.ptx");
    struct ptx_question question = {.to = "Again"};
    CHECK(ask(code, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK_MSG(strcmp(answer.letters, "LLLLLCCCCCCCCCLLCCCCCCCCC") == 0, "%s", answer.letters);
    ptx_answer_free(&answer);
    struct ptx_named loop = {"Loop", 4, 3};
    question = (struct ptx_question){.loops = &loop, .loop_count = 1};
    CHECK(ask(code, &question, NULL, &answer, &error) == GORDIAN_OK);
    CHECK(answer.count == 7 + 5 + 2 * 14 + 2 + 1); /* twice round, and out */
    ptx_answer_free(&answer);
}

static void test_allocations(void)
{
    char code[4000];
    snprintf(code, sizeof code,
             "%smov.u32 %%r1, 0; T: ld.global.f32 %%f1, [%%rd1]; U: @%%p2 bra U; "
             "add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, 3; @%%p1 bra T; call twice; ret;\n}\n"
             ".func twice() {\nret;\n}\n",
             HEAD);
    struct ptx_named loop = {"U", 1, 2};
    struct ptx_question question = {.loops = &loop, .loop_count = 1};
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    for (size_t at = 1;; at++) {
        struct ptx_answer answer;
        gordian_error error = {0};
        failing = (struct failing){.fail_at = at};
        gordian_status status = ask(code, &question, &allocator, &answer, &error);
        if (status == GORDIAN_OK) {
            CHECK(failing.failures == 0);
            CHECK_MSG(strcmp(answer.letters, "CLCCCCLCCCCLCCCCCCC") != 0 && answer.count > 10, "%s",
                      answer.letters);
            ptx_answer_free(&answer);
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
    size_t size;
    const char *code = own_ptx(&size);
    if (!code)
        return;
    for (int event = 0; event < OWN_EVENTS; event++) {
        uint64_t before = 0;
        for (uint32_t count = 64; count <= 65536; count *= 32) {
            struct own_question own;
            own_ask(&own, event, count, count, own_blocks(count, 132));
            struct ptx_question question = {.entry = own.entry,
                                            .from = own.from,
                                            .to = own.to,
                                            .avoid = own.avoid,
                                            .loops = own.loops,
                                            .loop_count = own.loop_count,
                                            .extra_loops = true};
            struct ptx_answer answer;
            gordian_error error = {0};
            gordian_status status = ask(code, &question, NULL, &answer, &error);
            CHECK_MSG(status == GORDIAN_OK, "%s: %s", own_event_names[event], error.message);
            if (status != GORDIAN_OK)
                break;
            CHECK(answer.every_path && answer.longest > 50 && answer.longest >= before);
            before = answer.longest;
            ptx_answer_free(&answer);
        }
    }
    CHECK(!strstr(code, "/src/")); /* where it was built is nobody's business */
}

int main(void)
{
    test_strings();
    test_calls();
    test_refusals();
    test_bad_questions();
    test_table();
    test_voronoi();
    test_allocations();
    test_own();
    return test_done();
}
