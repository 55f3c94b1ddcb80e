/* gordian papers: tables and figures of the papers, with our measurements (src/lab/papers/). */
#include "lab/papers/print.h"

#include "cli/base/commands.h"

struct papers_command {
    struct cli *cli;
    struct papers papers;
    struct results results;
    const struct papers_item *items[PAPERS_FOUND_MOST];
    size_t item_count;
    struct bench_options bench;
    struct papers_run run;
    bool measure, markdown;
    const char *svg, *pictures, *results_path, *merge_path;
    struct {
        size_t runs, values, added;
    } merged; /* by --merge */
    gordian_error error;
};

/* ------------------------------------------------------------------ items */

static gordian_status find_items(struct papers_command *command, char **names, int count)
{
    for (int i = 0; i < count; i++) {
        const struct papers_item *found[PAPERS_FOUND_MOST];
        size_t many;
        TRY(papers_find(&command->papers, names[i], found, &many, &command->error));
        for (size_t k = 0; k < many; k++)
            if (command->item_count < PAPERS_FOUND_MOST)
                command->items[command->item_count++] = found[k];
    }
    return GORDIAN_OK;
}

/* Reads the recorded results, or the results in the file, and then the results of --merge. *file is
 * the file with an error. */
static gordian_status read_results(struct papers_command *command, const char **file)
{
    const bool writes = command->measure || command->merge_path;
    gordian_status status;
    *file = command->results_path;
    if (command->results_path)
        status =
            results_read_file(&command->results, command->results_path, writes, &command->error);
    else
        status = results_read_recorded(&command->results, &command->error);
    THEN(status, papers_check_results(&command->papers, &command->results, 0, &command->error));
    if (status != GORDIAN_OK || !command->merge_path)
        return status;
    *file = command->merge_path;
    /* Add the results of the other file; all or none. */
    struct results *results = &command->results;
    const size_t runs = results->run_count, values = results->value_count;
    status = results_read_file(results, command->merge_path, false, &command->error);
    THEN(status, papers_check_results(&command->papers, results, runs, &command->error));
    TRY(status);
    for (size_t i = 0; i < results->value_count; i++)
        command->merged.values += results->values[i].run >= runs;
    command->merged.added = results->value_count - values;
    command->merged.runs = results->run_count - runs;
    if (command->merged.values == 0)
        return fail(&command->error, GORDIAN_STATUS_INPUT, "no results in '%s'",
                    command->merge_path);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ actions */

static gordian_status write_results(struct papers_command *command)
{
    if (!command->results_path)
        return GORDIAN_OK;
    return results_write_file(&command->results, command->results_path, &command->error);
}

static gordian_status measure_items(struct papers_command *command)
{
    struct papers_run *run = &command->run;
    papers_run_open(run, &command->bench, &command->results, &command->error);
    gordian_status status = results_begin_run(
        &command->results, run->info.emulated ? "" : run->info.name, &command->error);
    for (size_t i = 0; i < command->item_count && status == GORDIAN_OK; i++) {
        const struct papers_item *item = command->items[i];
        status = papers_measure_item(run, item);
        /* The tables from which a figure is computed. */
        for (size_t k = 0; k < item->from.count && status == GORDIAN_OK; k++)
            status = papers_measure_item(
                run, papers_named(&command->papers, item->paper, item->from.items[k]));
        if (status == GORDIAN_OK) /* a run is long and may be interrupted */
            status = write_results(command);
    }
    progress_clear(&command->cli->progress);
    return status;
}

static gordian_status print_items(struct papers_command *command)
{
    struct output *out = &command->cli->out;
    const struct papers_run *run = command->measure ? &command->run : NULL;
    for (size_t i = 0; i < command->item_count; i++) {
        if (command->cli->json) {
            TRY(papers_item_json(&command->papers, command->items[i], &command->results, run, out,
                                 &command->error));
            continue;
        }
        if (i)
            output_text(out, "\n\n");
        TRY(papers_item_text(&command->papers, command->items[i], &command->results, run, out,
                             &command->error));
    }
    return GORDIAN_OK;
}

/* The steps after the results were read. */
static gordian_status do_rest(struct papers_command *command)
{
    gordian_status status = GORDIAN_OK;
    if (command->measure)
        status = measure_items(command);
    if (status == GORDIAN_OK && command->merge_path)
        status = write_results(command);
    if (status == GORDIAN_OK && command->merge_path) {
        struct cli *cli = command->cli;
        const size_t replaced = command->merged.values - command->merged.added;
        if (cli->json) {
            struct json json;
            json_begin(&json, &cli->out);
            json_key_u64(&json, "merged_values", command->merged.values);
            json_key_u64(&json, "added_values", command->merged.added);
            json_key_u64(&json, "replaced_values", replaced);
            json_key_u64(&json, "merged_runs", command->merged.runs);
            json_end(&json);
        } else if (!cli->quiet) {
            cli_say(cli, "merged %zu value%s of %zu run%s from '%s': %zu new, %zu replaced",
                    command->merged.values, command->merged.values == 1 ? "" : "s",
                    command->merged.runs, command->merged.runs == 1 ? "" : "s", command->merge_path,
                    command->merged.added, replaced);
        }
    }
    if (status == GORDIAN_OK && command->svg)
        status = papers_draw(&command->papers, command->items[0], &command->results, command->svg,
                             &command->error);
    if (status == GORDIAN_OK && command->pictures)
        status = papers_draw_all(&command->papers, &command->results, command->pictures,
                                 &command->error);
    TRY(status);
    struct output *out = &command->cli->out;
    const struct papers *papers = &command->papers;
    if (command->markdown)
        return papers_markdown(papers, &command->results, "papers", out, &command->error);
    if (command->item_count)
        return print_items(command);
    if (command->pictures || command->merge_path)
        return GORDIAN_OK;
    if (command->cli->json)
        papers_list_json(papers, out);
    else
        papers_list_text(papers, out);
    return GORDIAN_OK;
}

static int run_papers(struct papers_command *command, char **names, int count)
{
    struct cli *cli = command->cli;
    const char *file = NULL;
    gordian_status status = papers_open(&command->papers, &command->error);
    THEN(status, find_items(command, names, count));
    if (status == GORDIAN_OK && command->svg && command->item_count != 1) {
        papers_close(&command->papers);
        return cli_misuse(cli, "--svg draws one table or figure: give its NAME");
    }
    /* Is there any output: a file, a picture, a table? */
    bool used = command->results_path || command->item_count || command->measure ||
                command->markdown || command->svg || command->pictures;
    if (status == GORDIAN_OK && command->merge_path && !used) {
        papers_close(&command->papers);
        return cli_misuse(
            cli, "--merge has no effect alone: give --results FILE, or the NAME of a table");
    }
    THEN(status, read_results(command, &file));
    if (status == GORDIAN_OK) {
        file = NULL;
        if (command->measure && count == 0) {
            /* Without names, everything that can be measured is measured. */
            for (size_t i = 0; i < command->papers.item_count; i++)
                if (command->papers.items[i].measures.count &&
                    command->item_count < PAPERS_FOUND_MOST)
                    command->items[command->item_count++] = &command->papers.items[i];
        }
        status = do_rest(command);
    }
    papers_run_close(&command->run);
    results_free(&command->results);
    papers_close(&command->papers);
    if (status == GORDIAN_OK || cli->out.failure)
        return EXIT_NOTHING;
    return cli_fail(cli, command->error.line ? file : NULL, &command->error);
}

static int papers_main(struct cli *cli, int argc, char **argv)
{
    struct papers_command command = {.cli = cli};
    bench_options_init(&command.bench);
    results_init(&command.results);
    const struct option options[] = {
        {"markdown", 0, NULL, "write all as one Markdown document", OPTION_FLAG, &command.markdown},
        {"merge", 0, "FILE", "add the results of FILE", OPTION_FILE, &command.merge_path},
        {"pictures", 0, "FOLDER", "draw all with numbers into FOLDER", OPTION_FOLDER,
         &command.pictures},
        {"quick", 0, NULL, "with --run: omit long measurements", OPTION_FLAG, &command.bench.quick},
        {"results", 0, "FILE", "read recorded results from FILE; --run and --merge\nwrite to it",
         OPTION_FILE, &command.results_path},
        {"run", 0, NULL, "measure the named ones now, or all", OPTION_FLAG, &command.measure},
        {"svg", 0, "FILE", "draw the named table or figure into FILE", OPTION_FILE, &command.svg},
        {0},
    };
    int code, operands = cli_parse(cli, options, argc, argv, &code);
    if (operands < 0)
        return code;
    command.bench.progress = cli_show_progress;
    command.bench.progress_context = cli;
    return run_papers(&command, argv, operands);
}

const struct command command_papers = {
    .name = "papers",
    .operands = "[NAME]...",
    .summary = "show the papers' tables and figures, and our measurements",
    .about =
        "Lists the tables and figures of the five papers, or shows the named ones (3.3,\n"
        "thesis/3.3, article/fig8, or a paper's name for all of it): the paper's numbers, our\n"
        "measurements of the same work, speed-ups, differences, and errors in the paper.\n",
    .run = papers_main,
};
