/* gordian convert: converts between text and the packed forms of traces and snapshots. */
#include "cli/base/commands.h"
#include "cli/base/input.h"

int cli_convert(struct cli *cli, const gordian_source *source, const char *name, unsigned form)
{
    gordian_error error = {0};
    gordian_writer writer = cli_writer_out(cli);
    gordian_status status = gordian_convert(source, &writer, (gordian_form)form, NULL, &error);
    /* cli_finish reports failed writes. */
    if (status == GORDIAN_OK || cli->out.failure)
        return EXIT_NOTHING;
    return cli_fail(cli, name, &error);
}

static int convert_main(struct cli *cli, int argc, char **argv)
{
    static const char *const forms[] = {"other", "text", "trace", "snapshot", NULL};
    unsigned form = GORDIAN_FORM_OTHER;
    const struct option options[] = {
        {"form", 'f', "FORM",
         "text, trace or snapshot (both packed); other, the\ndefault: packs text as a trace, and "
         "unpacks the rest",
         OPTION_CHOICE, &form, forms},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (cli->json)
        return cli_misuse(cli, "--json: not available for traces and snapshots: 'gordian detect "
                               "--all --json' prints the events of a trace");
    if (operands > 1)
        return cli_misuse(cli, "only one FILE is allowed: unexpected '%.200s'", argv[1]);
    struct input input;
    TRY_CODE(input_open(&input, cli, operands ? argv[0] : NULL));
    code = cli_convert(cli, &input.source, input.name, form);
    input_close(&input);
    return code;
}

const struct command command_convert = {
    .name = "convert",
    .operands = "[FILE]",
    .summary = "pack traces and snapshots, and unpack them",
    .about =
        "Reads a trace or a snapshot, text or packed, from FILE or standard input, and writes\n"
        "it to standard output in the requested form. The packed form is compact,\n"
        "checksummed, and the same on every machine. Every command that reads the text also\n"
        "reads the packed form.\n",
    .run = convert_main,
};
