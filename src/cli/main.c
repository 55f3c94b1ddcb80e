/* main function of gordian and of its helper programs. */
#include "cli/base/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define COMMANDS_MOST 30 /* compared with a mistyped word */

bool cli_is_mpi(void)
{
#ifdef GORDIAN_MPI
    return true;
#else
    return false;
#endif
}

static void print_usage(struct output *out)
{
    output_text(out, "Usage: gordian COMMAND [OPTION]... [ARGUMENT]...\n"
                     "\n"
                     "Gordian cuts deadlocks.\n"
                     "\n"
                     "Commands:\n");
    for (size_t i = 0; cli_commands[i]; i++)
        output_format(out, "  %-13s%s\n", cli_commands[i]->name, cli_commands[i]->summary);
    output_text(out,
                "\n"
                "For more, see 'gordian help COMMAND', 'gordian COMMAND --help' or man gordian.\n"
                "Exit status: 0 nothing found, 1 a deadlock was found, 2 bad use or bad input,\n"
                "3 something not available, 4 out of memory or I/O failure, 5 nothing found,\n"
                "but not everything was seen.\n");
}

static const struct command *find_command(struct cli *cli, const char *name)
{
    const char *names[COMMANDS_MOST + 2] = {"help"};
    for (size_t i = 0; i < COMMANDS_MOST && cli_commands[i]; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
        names[i + 1] = cli_commands[i]->name;
    }
    const char *nearest = nearest_word(name, names);
    if (nearest)
        cli_misuse(cli, "unknown command '%.40s'; did you mean '%s'?", name, nearest);
    else
        cli_misuse(cli, "unknown command '%.40s'", name);
    return NULL;
}

/* No command: print the usage to stderr. */
static int without_command(void)
{
    struct output out;
    if (!output_open(&out, STDERR_FILENO))
        return EXIT_BROKEN;
    print_usage(&out);
    return output_close(&out) ? EXIT_MISUSE : EXIT_BROKEN;
}

/* Skips options and `help` before the command. Returns its index; -1: *code is the exit code. */
static int find_place(struct cli *cli, int argc, char **argv, int *code)
{
    for (int first = 0;; first++) {
        int options = cli_parse_leading(cli, argc - first, argv + first, code);
        if (options < 0)
            return -1;
        first += options;
        if (first == argc || strcmp(argv[first], "help") != 0)
            return first;
        cli->help = true;
    }
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    int code;
    int first = find_place(cli, argc, argv, &code);
    if (first < 0)
        return code;
    if (first == argc) {
        if (!cli->help)
            return without_command();
        print_usage(&cli->out);
        return EXIT_NOTHING;
    }
    const struct command *command = find_command(cli, argv[first]);
    if (!command)
        return EXIT_MISUSE;
    cli->command = command;
    return command->run(cli, argc - first - 1, argv + first + 1);
}

int main(int argc, char **argv)
{
    /* Fill closed standard streams with descriptors that fail when used, so that no file opened
     * later takes their numbers. */
    unsigned filled = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) == fd)
            filled |= 1u << fd;
    struct cli cli;
    cli_init(&cli);
    cli.streams_filled = filled;
    cli.words = argv;
    /* Failed writes are reported by their error code. */
    cli.pipe_was_ignored = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
    if (!output_open(&cli.out, STDOUT_FILENO))
        return cli_no_memory(&cli);
    return cli_finish(&cli, run_command(&cli, argc > 0 ? argc - 1 : 0, argv + (argc > 0)));
}
