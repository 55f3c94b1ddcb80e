/* gordian info: version and features of this program, the machine, its GPUs, and the available
 * engines. */
#include "cli/base/commands.h"
#include "cli/crossover.h"
#include "cli/features.h"
#include "foundation/base/machine.h"
#include "output/show/style.h"

#include <string.h>
#include <unistd.h>

#if __has_include("build-info.h")
#include "build-info.h"
#endif

/* Built without Meson: unknown. */
#ifndef GORDIAN_BUILD_COMPILER
#define GORDIAN_BUILD_COMPILER __VERSION__
#define GORDIAN_BUILD_FLAGS    "unknown"
#define GORDIAN_BUILD_COMMIT   "unknown"
#endif

/* What to measure. */
struct measuring {
    bool crossover;
    uint64_t most; /* the maximum size */
};

static int write_json(struct cli *cli, const struct machine *machine,
                      const struct measuring *measuring)
{
    struct json json;
    json_begin(&json, &cli->out);
    json_key_text(&json, "version", gordian_version());
    json_key_text(&json, "compiler", GORDIAN_BUILD_COMPILER);
    json_key_text(&json, "flags", GORDIAN_BUILD_FLAGS);
    json_key_text(&json, "commit", GORDIAN_BUILD_COMMIT);
    json_key_text(&json, "system", machine->system);
    json_key_text(&json, "cpu", machine->cpu);
    json_key_u64(&json, "cores", machine->cores);
    json_key_u64(&json, "memory", machine->memory);
    json_open(&json, "engines", '[');
    gordian_engine_info engine;
    for (size_t i = 0; gordian_engine(i, &engine) == GORDIAN_OK; i++) {
        json_open(&json, NULL, '{');
        json_key_text(&json, "family", engine.family);
        json_key_text(&json, "name", engine.name);
        json_key_text(&json, "summary", engine.summary);
        json_key_bool(&json, "available", engine.available);
        if (!engine.available)
            json_key_text(&json, "reason", engine.reason);
        json_shut(&json);
    }
    json_shut(&json);
    /* Devices, or the reason why there are none. */
    gordian_device_info device;
    json_open(&json, "devices", '[');
    for (size_t i = 0; gordian_device(i, &device) == GORDIAN_OK && device.name[0]; i++) {
        json_open(&json, NULL, '{');
        json_key_text(&json, "name", device.name);
        json_key_bool(&json, "available", device.available);
        if (!device.available)
            json_key_text(&json, "reason", device.reason);
        json_key_u64(&json, "major", device.major);
        json_key_u64(&json, "minor", device.minor);
        json_key_u64(&json, "multiprocessors", device.multiprocessors);
        json_key_u64(&json, "memory", device.memory);
        json_key_u64(&json, "memory_free", device.memory_free);
        json_shut(&json);
    }
    json_shut(&json);
    if (gordian_device(0, &device) == GORDIAN_OK && !device.name[0])
        json_key_text(&json, "no_devices", device.reason);
    struct features features;
    features_list(&features);
    json_open(&json, "built_with", '{');
    for (size_t i = 0; i < FEATURES; i++) {
        const struct feature *part = &features.list[i];
        bool available = !part->missing[0];
        json_open(&json, part->name, '{');
        json_key_bool(&json, "available", available);
        if (!available)
            json_key_text(&json, "reason", part->missing);
        else
            json_key_text(&json, part->about == features.library ? "library" : "about",
                          part->about);
        json_shut(&json);
    }
    json_shut(&json);
    int code = measuring->crossover ? crossover_write(cli, &json, measuring->most) : EXIT_NOTHING;
    json_end(&json);
    return code;
}

/* Prints "available" and a description, or "not available" and the reason. `missing` "": available.
 */
static void write_available(struct cli *cli, const struct style *style, const char *missing,
                            const char *about)
{
    bool available = !missing[0];
    style_text(style, &cli->out, available ? COLOR_GOOD : COLOR_BAD,
               available ? "available" : "not available");
    output_format(&cli->out, "%s%s\n", available ? "  " : ": ", available ? about : missing);
}

static void write_devices(struct cli *cli, const struct style *style)
{
    struct output *out = &cli->out;
    gordian_device_info device;
    const double gibibyte = 1 << 30;
    for (size_t i = 0; gordian_device(i, &device) == GORDIAN_OK; i++) {
        if (!device.name[0]) {
            output_format(out, "  none: %s\n", device.reason);
            continue;
        }
        output_format(out, "  %zu  %s  ", i, device.name);
        style_text(style, out, device.available ? COLOR_GOOD : COLOR_BAD,
                   device.available ? "available" : "not available");
        if (!device.available) {
            output_format(out, ": %s\n", device.reason);
            continue;
        }
        output_format(
            out, "  compute capability %u.%u, %u multiprocessors, %.1f of %.1f GiB free\n",
            (unsigned)device.major, (unsigned)device.minor, (unsigned)device.multiprocessors,
            (double)device.memory_free / gibibyte, (double)device.memory / gibibyte);
    }
}

static void write_text(struct cli *cli, const struct machine *machine)
{
    struct style style = cli_style(cli);
    struct output *out = &cli->out;
    output_format(out, "gordian   %s, commit %s\n", gordian_version(), GORDIAN_BUILD_COMMIT);
    output_format(out, "compiler  %s\n", GORDIAN_BUILD_COMPILER);
    output_format(out, "flags     %s\n", GORDIAN_BUILD_FLAGS);
    output_format(out, "system    %s\n", machine->system);
    output_format(out, "cpu       %s, %u core%s\n", machine->cpu, machine->cores,
                  machine->cores == 1 ? "" : "s");
    if (machine->memory)
        output_format(out, "memory    %.1f GiB\n", (double)machine->memory / (1 << 30));
    struct features features;
    features_list(&features);
    output_text(&cli->out, "built with\n");
    for (size_t i = 0; i < FEATURES; i++) {
        const struct feature *part = &features.list[i];
        output_format(&cli->out, "  %-10s", part->name);
        write_available(cli, &style, part->missing, part->about);
    }
    output_text(out, "engines\n");
    gordian_engine_info engine;
    for (size_t i = 0; gordian_engine(i, &engine) == GORDIAN_OK; i++) {
        output_format(out, "  %-10s%-13s", engine.family, engine.name);
        write_available(cli, &style, engine.available ? "" : engine.reason, engine.summary);
    }
    output_text(out, "devices\n");
    write_devices(cli, &style);
}

/* Checks --engine: is that engine available in any family? */
static int check_engine(struct cli *cli)
{
    gordian_engine_info engine, found = {0};
    if (!cli->engine || strcmp(cli->engine, "auto") == 0)
        return EXIT_NOTHING;
    for (size_t i = 0; gordian_engine(i, &engine) == GORDIAN_OK; i++)
        if (strcmp(engine.name, cli->engine) == 0 && !found.available)
            found = engine;
    if (found.available)
        return EXIT_NOTHING;
    if (found.name)
        cli_say(cli, "engine '%s' is not available: %s", found.name, found.reason);
    else
        return cli_misuse(cli, "unknown engine '%.40s': 'gordian info' lists them", cli->engine);
    return EXIT_UNAVAILABLE;
}

static int info_main(struct cli *cli, int argc, char **argv)
{
    struct measuring measuring = {0};
    const struct option options[] = {
        {"crossover", 0, NULL, "measure which engine is fastest at which size", OPTION_FLAG,
         &measuring.crossover},
        {"most", 0, "N", "largest size to measure", OPTION_U64, &measuring.most},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    if (operands)
        return cli_misuse(cli, "unexpected argument '%.40s'", argv[0]);
    if (measuring.most && !measuring.crossover)
        return cli_misuse(cli, "--most needs --crossover");
    struct machine machine;
    machine_describe(&machine);
    code = EXIT_NOTHING;
    if (cli->json)
        code = write_json(cli, &machine, &measuring);
    else
        write_text(cli, &machine);
    if (!cli->json && measuring.crossover)
        code = crossover_write(cli, NULL, measuring.most);
    return code == EXIT_NOTHING ? check_engine(cli) : code;
}

const struct command command_info = {
    .name = "info",
    .operands = "",
    .summary = "show which engines are available here, and why others are not",
    .about = "Shows the version, the build, this machine, every engine and every GPU: whether it\n"
             "is available and, if not, why. With --engine the exit status is 3 if that engine is\n"
             "not available. --crossover runs every family's command on inputs of growing size\n"
             "with each available engine, as whole processes, and shows what `auto` chooses and\n"
             "why. It takes some minutes, and space for files in TMPDIR.\n",
    .run = info_main,
};
