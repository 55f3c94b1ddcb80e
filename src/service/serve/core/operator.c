/* Actions of operators. The action is an event of the service itself, and a record states the
 * operator, the process and the reason. Either both are stored, or neither. */
#include "service/serve/core/service_internal.h"

#include <string.h>

static void store_action(struct service *service, const struct served *served, const char *what,
                         const char *name, const char *who, const char *why)
{
    const struct service_journal *journal = &service->options.journal;
    struct incident kept = {
        .id = INCIDENT_ACTION | service_last(service),
        .system = served->name,
        .at = service->work->now,
        .how = what,
        .requester = who,
        .victim = name,
        .processes = why,
    };
    if (journal->incident)
        journal->incident(journal->context, &kept);
}

gordian_status service_act(struct service *service, struct served *served,
                           const struct service_action *action, const char **result,
                           gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1], name[GORDIAN_NAME_MAX + 1];
    const char *why, *said = served_process_name(served, action->process, buffer);
    service_begin(service);
    if (!said)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", action->process);
    memcpy(name, said, strlen(said) + 1); /* the process may be removed */
    if (!service_may_change(service, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s", why);
    struct apply_events events = {.served = served,
                                  .session = GORDIAN_NONE,
                                  .how = action->op == GORDIAN_OP_EXIT ? "ended" : "cancelled"};
    gordian_event event = {
        .op = action->op, .process = action->process, .resource = GORDIAN_NONE, .to = GORDIAN_NONE};
    TRY(apply_event(service, &events, &event, error));
    uint8_t outcome = service->work->results[0].outcome;
    enum served_effect effect = (enum served_effect)served->operations->effects[outcome & 15];
    *result = served_outcome_text(served, outcome);
    if (effect != EFFECT_LEAVES && effect != EFFECT_CANCELS)
        return fail(error, GORDIAN_STATUS_INPUT, "'%.100s': %s", name, *result);
    store_action(service, served, gordian_op_text(action->op), name, action->who, action->why);
    return GORDIAN_OK;
}

gordian_status service_label(struct service *service, struct served *served,
                             const struct wire_label *label, const char *who, gordian_error *error)
{
    char name[GORDIAN_NAME_MAX + 1], texts[WIRE_LABELS_MAX * (GORDIAN_NAME_MAX + 1)] = "";
    bool process = label->what == WIRE_PROCESS;
    const char *why;
    size_t used = 0;
    service_begin(service);
    if (!service_may_change(service, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s", why);
    TRY(apply_label(service, served, GORDIAN_NONE, label, error));
    for (size_t i = 0; i < label->count; i++) {
        memcpy(texts + used, label->texts[i].text, label->texts[i].length);
        used += label->texts[i].length;
        texts[used++] = i + 1 < label->count ? ' ' : '\0';
    }
    store_action(service, served, process ? "label" : "label resource",
                 process ? served_process_label(served, label->id, name)
                         : served_resource_label(served, label->id, name),
                 who, texts); /* the labels are the reason */
    return GORDIAN_OK;
}
