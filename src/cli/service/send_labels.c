/* gordian send --label: labels every process of the trace at its first event. */
#include "cli/service/send.h"
#include "foundation/base/error.h"
#include "foundation/base/names/interner.h"

#include <stdio.h>
#include <string.h>

#define LABEL_LINE "label process "
#define BLANKS     " \t"

bool send_labels_fit(const char *labels, const char **wrong)
{
    const char *why;
    *wrong = labels;
    labels += strspn(labels, BLANKS);
    if (!*labels)
        return false;
    for (; *labels; labels += strspn(labels, BLANKS)) {
        size_t length = strcspn(labels, BLANKS);
        *wrong = labels;
        if (!names_label_key(labels, length, &why))
            return false;
        labels += length;
    }
    return true;
}

/* ------------------------------------------------------------------ labelled processes */

static void forget_name(struct send *send, const char *name, size_t length)
{
    uint32_t id = names_find(&send->labelled, name, length);
    if (id == GORDIAN_NONE || !memory_grow(&send->memory, &send->free_ids, &send->free_capacity,
                                           send->free_count + 1, sizeof *send->free_ids))
        return;
    names_drop(&send->labelled, id);
    send->free_ids[send->free_count++] = id;
}

static bool remember_name(struct send *send, const char *name, size_t length)
{
    uint32_t id = send->free_count ? send->free_ids[send->free_count - 1] : send->next_id;
    if (!names_put(&send->labelled, id, name, length))
        return false;
    if (send->free_count)
        send->free_count--;
    else
        send->next_id++;
    return true;
}

/* ------------------------------------------------------------------ labelling */

gordian_status send_labels(struct send *send, gordian_error *error)
{
    const gordian_trace *trace = &send->trace;
    const gordian_word *name = &trace->name;
    size_t capacity = sizeof LABEL_LINE + name->length + 1 + strlen(send->labels) + 1;
    if (trace->kind == GORDIAN_LINE_EVENT && trace->op == GORDIAN_OP_EXIT)
        forget_name(send, name->text, name->length);
    /* Only these lines create a process. */
    if (!(trace->kind == GORDIAN_LINE_PROCESS ||
          (trace->kind == GORDIAN_LINE_EVENT &&
           (trace->op == GORDIAN_OP_REQUEST || trace->op == GORDIAN_OP_HOLD ||
            trace->op == GORDIAN_OP_WAIT || trace->op == GORDIAN_OP_AWAIT))) ||
        names_find(&send->labelled, name->text, name->length) != GORDIAN_NONE)
        return GORDIAN_OK;
    if (!remember_name(send, name->text, name->length) ||
        !fifo_reserve(&send->memory, &send->texts, capacity))
        return fail_memory(error);
    int size = snprintf(fifo_back(&send->texts), capacity, LABEL_LINE "%.*s %s", (int)name->length,
                        name->text, send->labels);
    struct sent_line line = {
        .line = trace->line, .column = trace->verb.column, .size = (uint32_t)size, .label = true};
    return send_text(send, line, error);
}

void send_unlabelled(struct send *send, const char *text, size_t size)
{
    const char *name = text + strlen(LABEL_LINE);
    const char *blank = memchr(name, ' ', size - strlen(LABEL_LINE));
    forget_name(send, name, (size_t)(blank - name));
}

void send_labels_free(struct send *send)
{
    names_free(&send->labelled);
    memory_free(&send->memory, send->free_ids);
}
