/* gordian gen: generates traces, snapshots, circuits and dumps of any size from a seed
 * (src/sources/gen). */
#include "sources/gen/gen.h"

#include "cli/base/commands.h"
#include "foundation/base/io/temporary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_kind(struct cli *cli, const struct gen_kind *kind)
{
    if (!cli->json) {
        output_format(&cli->out, "%-16s%s\n%-16soptions: %s\n", kind->name, kind->summary, "",
                      kind->uses);
        return;
    }
    struct json json;
    json_begin(&json, &cli->out);
    json_key_text(&json, "kind", kind->name);
    json_key_text(&json, "summary", kind->summary);
    json_key_text(&json, "uses", kind->uses);
    json_end(&json);
}

static int list_kinds(struct cli *cli)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++)
        write_kind(cli, kind);
    return EXIT_NOTHING;
}

static int generate_kind(struct cli *cli, const struct gen_options *options)
{
    gordian_error error = {0};
    gordian_status status = gen_write(options, &cli->out, &error);
    /* cli_finish reports failed writes. */
    if (status == GORDIAN_OK || cli->out.failure)
        return EXIT_NOTHING;
    int code = cli_fail(cli, NULL, &error);
    if (code == EXIT_MISUSE)
        cli_say(cli, "'gordian gen --list' shows the kinds and their options");
    return code;
}

static bool is_circuit(const char *name)
{
    const struct gen_kind *kind = gen_kinds;
    while (kind->name && strcmp(kind->name, name) != 0)
        kind++;
    return kind->write && !kind->stream;
}

static int pack_snapshot(struct cli *cli, const struct gen_options *options)
{
    gordian_error error = {0};
    const gordian_writer writer = cli_writer_out(cli);
    gordian_status status = gen_pack(options, &writer, &error);
    /* cli_finish reports failed writes. */
    return status == GORDIAN_OK || cli->out.failure ? EXIT_NOTHING : cli_fail(cli, NULL, &error);
}

/* Generates the text of a trace into an unnamed file and packs it. */
static int generate_packed(struct cli *cli, const struct gen_options *options)
{
    gordian_error error = {0};
    struct output text;
    if (is_circuit(options->kind))
        return cli_misuse(cli, "--binary is only for traces and snapshots");
    if (options->snapshot)
        return pack_snapshot(cli, options);
    FILE *file = temporary_stream(&error);
    if (!file)
        return cli_fail(cli, NULL, &error);
    int fd = fileno(file);
    if (!output_open(&text, fd)) {
        cli_say(cli, "out of memory");
        fclose(file);
        return EXIT_BROKEN;
    }
    gordian_status status = gen_write(options, &text, &error);
    int failure = output_close(&text) ? 0 : text.failure;
    int code = EXIT_NOTHING;
    gordian_source source = gordian_source_fd(&fd);
    if (failure) {
        cli_say(cli, "cannot write a temporary file: %s", strerror(failure));
        code = EXIT_BROKEN;
    } else if (status != GORDIAN_OK) {
        code = cli_fail(cli, NULL, &error);
    } else if (lseek(fd, 0, SEEK_SET) == 0) {
        code = cli_convert(cli, &source, NULL, GORDIAN_FORM_TRACE);
    }
    fclose(file);
    return code;
}

static int gen_main(struct cli *cli, int argc, char **argv)
{
    struct gen_options gen;
    gen_options_init(&gen);
    bool list = false, binary = false;
    const struct option options[] = {
        {"list", 'l', NULL, "list the kinds and the options each of them uses", OPTION_FLAG, &list},
        {"seed", 's', "N", "random seed (default: 1)", OPTION_U64, &gen.seed},
        {"processes", 'p', "N", "number of processes (k, M, G: thousands)", OPTION_U32,
         &gen.processes},
        {"resources", 'r', "N", "number of resources", OPTION_U32, &gen.resources},
        {"events", 'n', "N", "number of events", OPTION_U64, &gen.events},
        {"units", 'u', "N", "units of each resource, or the maximum", OPTION_U32, &gen.units},
        {"length", 0, "N", "processes in each chain", OPTION_U32, &gen.length},
        {"cycles", 0, "N", "number of chains closed into a ring", OPTION_U64, &gen.cycles},
        {"contention", 0, "PERCENT", "requests for resources that are held", OPTION_PERCENT,
         &gen.contention},
        {"cancels", 0, "PERCENT", "steps that cancel a wait", OPTION_PERCENT, &gen.cancels},
        {"exits", 0, "PERCENT", "steps that end a process", OPTION_PERCENT, &gen.exits},
        {"changes", 0, "PERCENT", "steps that change a claim", OPTION_PERCENT, &gen.changes},
        {"queue", 0, NULL, "for 'gordian avoid --queue'", OPTION_FLAG, &gen.queue},
        {"hand-overs", 0, "PERCENT", "releases that name the receiver", OPTION_PERCENT,
         &gen.hand_overs},
        {"deadlocks", 0, "PERCENT",
         "deadlocks left open; in the others the requester\ncancels its request", OPTION_PERCENT,
         &gen.deadlocks},
        {"tensor", 0, "N", "ranks in a tensor parallel group", OPTION_U32, &gen.tensor},
        {"pipeline", 0, "N", "stages of the pipelines", OPTION_U32, &gen.pipeline},
        {"expert", 0, "N", "ranks in an expert parallel group", OPTION_U32, &gen.expert},
        {"fault", 0, "FAULT",
         "kind of fault: none, absent, silent, stuck,\noperation, size, order, ring", OPTION_WORD,
         &gen.fault,
         (const char *const[]){"none", "absent", "silent", "stuck", "operation", "size", "order",
                               "ring", NULL}},
        {"folder", 0, "DIR", "folder of the dumps; created if missing", OPTION_FOLDER, &gen.folder},
        {"order", 0, "ORDER", "first process of a chain to block: tail, head,\nrandom", OPTION_WORD,
         &gen.order, (const char *const[]){"tail", "head", "random", NULL}},
        {"binary", 0, NULL, "write packed, like 'gordian convert'", OPTION_FLAG, &binary},
        {"snapshot", 0, NULL, "write the final state, for 'gordian check'", OPTION_FLAG,
         &gen.snapshot},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (list)
        return list_kinds(cli);
    if (operands != 1)
        return operands ? cli_misuse(cli, "only one KIND is allowed: unexpected '%.40s'", argv[1])
                        : cli_misuse(cli, "no KIND: 'gordian gen --list' shows them");
    gen.kind = argv[0];
    gen.json = cli->json && strcmp(gen.kind, "collectives") == 0;
    if (cli->json && !gen.json)
        return cli_misuse(cli, "--json: only for --list and collectives: 'gordian detect --all "
                               "--json' prints the events of a trace");
    if (strcmp(gen.kind, "collectives") == 0 && !gen.folder)
        return cli_misuse(cli, "collectives needs --folder for the dumps");
    return (binary ? generate_packed : generate_kind)(cli, &gen);
}

const struct command command_gen = {
    .name = "gen",
    .operands = "KIND",
    .summary = "make traces, snapshots, circuits and dumps of any size from a seed",
    .about = "Writes a trace, a snapshot or a circuit of the given KIND to standard output: the\n"
             "same bytes on every machine for the same seed. Dumps of a training job go into a\n"
             "--folder instead. 'gordian gen --list' shows the kinds.\n",
    .run = gen_main,
};
