/* --act: ends deadlocks, and reports the result by the server's answer and by later polls. */
#include "cli/watch/watch.h"

#include "foundation/base/clock.h"

#include <stdio.h>

static const char *signal_name(const struct act *act)
{
    return act->remedy == REMEDY_CANCEL ? "cancel" : "terminate";
}

/* Later polls show what was released. */
static void report_gone(struct cli *cli, const struct act *act, const char *name)
{
    size_t freed = act->waiter_count - act->held;
    const char *done =
        act->remedy == REMEDY_CANCEL ? "its statement was cancelled" : "its session was terminated";
    if (act->held)
        cli_say(cli,
                "%s: %s; the cycle is gone, but %zu of %zu sessions still wait for its locks: its "
                "client must release them, or terminate the session by hand",
                name, done, act->held, act->waiter_count);
    else if (!freed)
        cli_say(cli, "%s: %s; the cycle is gone", name, done);
    else
        cli_say(cli, "%s: %s; the cycle is gone, and %zu %s no longer %s for it", name, done, freed,
                freed == 1 ? "session" : "sessions", freed == 1 ? "waits" : "wait");
}

static void report_act(struct watching *watching, const struct act *act, enum act_event event)
{
    struct cli *cli = watching->cli;
    char name[120];
    if (event == ACT_NOTHING)
        return;
    snprintf(name, sizeof name, "%s/%lld", watching->servers.sources[act->source]->label,
             (long long)act->pid);
    switch (event) {
    case ACT_SENT:
        cli_say(cli, "%s: %s sent, while it waited in the cycle", name, signal_name(act));
        break;
    case ACT_OVER:
        if (act->pid)
            cli_say(cli, "%s: no longer waits in the cycle: nothing was done", name);
        else
            cli_say(cli, "the deadlock ended before anything was done");
        break;
    case ACT_REFUSED:
        cli_say(cli, "%s: could not be ended: the server refused%s%s", name, *act->why ? ": " : "",
                act->why);
        break;
    case ACT_UNREACHABLE:
        cli_say(cli, "%s: unreachable: nothing was done",
                act->pid ? name : "a server of the cycle");
        break;
    case ACT_UNKNOWN:
        cli_say(cli,
                "%s: the connection broke: it is not known whether %s was sent or had an effect",
                name, signal_name(act));
        break;
    case ACT_GONE:
        report_gone(cli, act, name);
        break;
    case ACT_ESCALATES:
        cli_say(cli,
                "%s: the same statement waits in the same cycle after cancel: ending its session",
                name);
        break;
    case ACT_STAYED:
        cli_say(cli, "%s: still waits in the same cycle after terminate: giving up", name);
        break;
    case ACT_NOTHING:
        break;
    }
    watching->ended += event == ACT_SENT;
}

static void step_acts(struct watching *watching, bool reviewed, uint64_t now)
{
    struct acts *acts = &watching->acts;
    for (size_t i = 0; i < acts->count; i++) {
        enum act_event event =
            act_step(acts, &acts->list[i], watching->servers.sources, reviewed, now);
        report_act(watching, &acts->list[i], event);
    }
}

void act_on_deadlocks(struct watching *watching, bool begin)
{
    const struct watch_settings *settings = watching->settings;
    const struct servers *servers = &watching->servers;
    uint64_t now = clock_ns();
    if (settings->act == ACT_CHOICE_NONE || settings->dry_run)
        return;
    step_acts(watching, false, now);
    for (size_t i = 0; i < servers->verdict.deadlock_count; i++) {
        const struct deadlock *deadlock = &servers->verdict.deadlocks[i];
        const struct act *act;
        enum act_event event;
        struct advice advice;
        advice_find(&advice, &settings->advice, deadlock, servers->sources);
        if (!acts_review(&watching->acts, deadlock, &advice, servers->sources, begin, now, &event,
                         &act))
            watching->failed = true;
        report_act(watching, act, event);
    }
    step_acts(watching, true, now);
    acts_forget(&watching->acts, now);
}
