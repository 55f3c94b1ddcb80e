/* Chooses the victim of a deadlock. */
#include "sources/watch/actions/advice.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

gordian_status advice_pattern(regex_t *pattern, bool *has, const char *option, const char *text,
                              gordian_error *error)
{
    char why[128];
    int failure = regcomp(pattern, text, REG_EXTENDED | REG_NOSUB);
    if (failure) {
        regerror(failure, pattern, why, sizeof why);
        return fail(error, GORDIAN_STATUS_INPUT, "%s: '%.60s' is not a regular expression: %s",
                    option, text, why);
    }
    *has = true;
    return GORDIAN_OK;
}

void advice_close(struct victim_settings *settings)
{
    if (settings->has_prefer)
        regfree(&settings->prefer);
    if (settings->has_spare)
        regfree(&settings->spare);
    settings->has_prefer = settings->has_spare = false;
}

static bool matches(const regex_t *pattern, bool has, const struct session *session)
{
    return has && (regexec(pattern, session->application, 0, NULL, 0) == 0 ||
                   regexec(pattern, session->user, 0, NULL, 0) == 0);
}

/* Returns the rank of a victim: 0 first, 2 last. */
static unsigned rank_of(const struct victim_settings *settings, const struct session *session)
{
    if (matches(&settings->spare, settings->has_spare, session))
        return 2;
    return matches(&settings->prefer, settings->has_prefer, session) ? 0 : 1;
}

static bool is_better(const struct victim_settings *settings, const struct session *one,
                      const struct session *other)
{
    unsigned rank = rank_of(settings, one), other_rank = rank_of(settings, other);
    if (rank != other_rank)
        return rank < other_rank;
    if (settings->policy == VICTIM_LEAST_WORK && one->work != other->work)
        return one->work < other->work;
    return one->transaction_s < other->transaction_s;
}

static void say_why(struct advice *advice, const struct victim_settings *settings,
                    const struct session *victim)
{
    unsigned rank = rank_of(settings, victim);
    const char *first = rank == 0   ? "--prefer matches it; "
                        : rank == 2 ? "--spare matches all of them; "
                                    : "";
    if (settings->policy == VICTIM_LEAST_WORK)
        snprintf(advice->why, sizeof advice->why,
                 "%sit has locked or changed least (%llu); its transaction is %.1f s old", first,
                 (unsigned long long)victim->work, victim->transaction_s);
    else if (victim->transaction_s >= 0)
        snprintf(advice->why, sizeof advice->why, "%sits transaction is the youngest (%.1f s)",
                 first, victim->transaction_s);
    else
        snprintf(advice->why, sizeof advice->why, "%sit is the first that may be ended", first);
}

void advice_find(struct advice *advice, const struct victim_settings *settings,
                 const struct deadlock *deadlock, struct source *const *sources)
{
    *advice = (struct advice){0};
    for (size_t i = 0; i < deadlock->cycle_count; i++) {
        struct member member = deadlock->cycle[i].from;
        const struct session *session = member_session(sources, member);
        if (session->pid <= 0 || session->wait == SCAN_NONE || session->spared)
            continue;
        if (!advice->found ||
            is_better(settings, session, member_session(sources, advice->victim))) {
            advice->found = true;
            advice->victim = member;
        }
    }
    if (advice->found)
        say_why(advice, settings, member_session(sources, advice->victim));
    else
        snprintf(advice->why, sizeof advice->why,
                 "this role may not end any of the sessions: only a superuser, or the owner of a "
                 "prepared transaction, can");
}
