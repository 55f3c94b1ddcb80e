/* Finds the item that a name means. */
#include "foundation/base/nearest.h"
#include "lab/papers/papers.h"

#include <stdio.h>
#include <string.h>

const struct papers_item *papers_named(const struct papers *papers,
                                       const struct papers_paper *paper, const char *number)
{
    for (size_t i = 0; i < papers->item_count; i++)
        if (papers->items[i].paper == paper && strcmp(papers->items[i].name, number) == 0)
            return &papers->items[i];
    return NULL;
}

static gordian_status fail_unknown(const struct papers *papers, const char *name,
                                   gordian_error *error)
{
    struct nearest nearest = {.typed = name, .length = strlen(name)};
    for (size_t i = 0; i < papers->item_count; i++) {
        nearest_offer(&nearest, papers->items[i].key);
        nearest_offer(&nearest, papers->items[i].name);
    }
    for (size_t i = 0; i < papers->paper_count; i++)
        nearest_offer(&nearest, papers->papers[i].name);
    const char *near = nearest_found(&nearest);
    if (near)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "no paper has a table or figure '%.40s'; did you mean '%s'?", name, near);
    return fail(error, GORDIAN_STATUS_INPUT,
                "no paper has a table or figure '%.40s'; 'gordian papers' lists them", name);
}

static gordian_status fail_ambiguous(const char *name, const struct papers_item *const *found,
                                     size_t count, gordian_error *error)
{
    char list[200] = "";
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " or ",
                 found[i]->key);
    }
    return fail(error, GORDIAN_STATUS_INPUT, "several papers have '%.40s': give %s", name, list);
}

gordian_status papers_find(const struct papers *papers, const char *name,
                           const struct papers_item **found, size_t *count, gordian_error *error)
{
    bool whole = false; /* the name of a paper */
    *count = 0;
    for (size_t i = 0; i < papers->item_count && *count < PAPERS_FOUND_MOST; i++) {
        const struct papers_item *item = &papers->items[i];
        bool paper = strcmp(item->paper->name, name) == 0;
        if (paper || strcmp(item->key, name) == 0 || strcmp(item->name, name) == 0)
            found[(*count)++] = item;
        whole = whole || paper;
    }
    if (*count == 0)
        return fail_unknown(papers, name, error);
    return *count == 1 || whole ? GORDIAN_OK : fail_ambiguous(name, found, *count, error);
}
