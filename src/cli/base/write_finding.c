#include "cli/base/write_finding.h"

#include <limits.h>

struct piece {
    void (*write)(const struct finding *finding, struct output *out);
    const struct finding *finding;
};

static gordian_status write_piece(void *context, struct output *out, gordian_error *error)
{
    const struct piece *piece = context;
    (void)error;
    piece->write(piece->finding, out);
    return GORDIAN_OK;
}

int cli_write_finding(struct cli *cli, const char *path, size_t number,
                      void (*write)(const struct finding *finding, struct output *out),
                      const struct finding *finding)
{
    struct piece piece = {write, finding};
    char whole[PATH_MAX + 32];
    gordian_error error = {0};
    if (!path)
        return EXIT_NOTHING;
    cli_numbered_path(path, number, whole, sizeof whole);
    if (cli_write_file(whole, write_piece, &piece, &error) != GORDIAN_OK)
        return cli_fail(cli, NULL, &error);
    return EXIT_NOTHING;
}
