/* Prints the sessions that block others. */
#include "sources/watch/report/report.h"

#define ROOTS_MOST 5
#define CHAIN_MOST 8

static void put_chain(const struct telling *telling, const struct overview *overview)
{
    struct output *out = telling->out;
    if (overview->chain_count < 3)
        return;
    output_format(out, "  the longest chain has %zu: ", overview->chain_count);
    for (size_t i = 0; i < overview->chain_count; i++) {
        if (i == CHAIN_MOST && overview->chain_count > CHAIN_MOST + 1 && !telling->look.verbose) {
            output_format(out, " ... %zu more ...", overview->chain_count - CHAIN_MOST - 1);
            i = overview->chain_count - 1;
        }
        output_text(out, i ? " behind " : "");
        char name[200];
        write_member_name(telling, (struct member){overview->chain_source, overview->chain[i]},
                          name, sizeof name);
        style_name(&telling->look.style, out, COLOR_PROCESS, name);
    }
    output_char(out, '\n');
}

void print_overview(const struct telling *telling, const struct overview *overview)
{
    struct output *out = telling->out;
    for (size_t i = 0; i < overview->root_count; i++) {
        const struct root *root = &overview->roots[i];
        struct member member = {root->source, root->session};
        if (i == ROOTS_MOST && !telling->look.verbose) {
            output_format(out, "  and %zu more (--verbose shows all)\n", overview->root_count - i);
            break;
        }
        output_format(out, "  %zu %s behind ", root->behind, root->behind == 1 ? "waits" : "wait");
        print_session(telling, member);
    }
    put_chain(telling, overview);
}
