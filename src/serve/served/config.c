/* The configuration of a served system: its defaults, and its form as text. */
#include "base/error.h"
#include "base/reader.h"
#include "serve/served/served.h"

#include <stdio.h>
#include <string.h>

void served_config_init(struct served_config *config, enum served_kind kind)
{
    *config = (struct served_config){
        .kind = kind,
        .engine = "auto",
        .on_loss = SERVED_DROP,
        .queue = true,
        .patience = 16,
    };
}

static gordian_status bad_option(const struct word *word, const char *expected,
                                 gordian_error *error)
{
    int length = word->length < 60 ? (int)word->length : 60;
    return fail_at(error, GORDIAN_STATUS_INPUT, 0, word->column, "'%.*s': expected %s", length,
                   word->text, expected);
}

static bool one_of(const struct word *value, const char *first, const char *second, bool *is_first)
{
    *is_first = word_is(value, first);
    return *is_first || word_is(value, second);
}

static gordian_status set_engine(struct served_config *config, const struct word *word,
                                 const struct word *value, gordian_error *error)
{
    if (value->length == 0 || value->length >= sizeof config->engine)
        return bad_option(word, "the name of an engine", error);
    memcpy(config->engine, value->text, value->length);
    config->engine[value->length] = '\0';
    return GORDIAN_OK;
}

static gordian_status set_recover(struct served_config *config, const struct word *word,
                                  const struct word *value, gordian_error *error)
{
    char text[16] = "";
    if (config->kind != SERVED_DETECT)
        return bad_option(word, "no recover= of a system that avoids deadlocks", error);
    if (value->length < sizeof text)
        memcpy(text, value->text, value->length);
    if (strcmp(text, "none") == 0)
        config->recover = 0;
    else if (!gordian_policy_parse(text, &config->recover))
        return bad_option(word, "recover= none, youngest, oldest, cheapest, priority, fewest-held",
                          error);
    return GORDIAN_OK;
}

static gordian_status set_bank_option(struct served_config *config, const struct word *word,
                                      const struct word *name, const struct word *value,
                                      gordian_error *error)
{
    const char *why;
    uint64_t number;
    if (config->kind != SERVED_AVOID)
        return bad_option(word, "queue= and patience= only of a system that avoids deadlocks",
                          error);
    if (word_is(name, "queue"))
        return one_of(value, "yes", "no", &config->queue) ? GORDIAN_OK
                                                          : bad_option(word, "yes or no", error);
    if (!parse_u64(value->text, value->length, &number, &why) || number > UINT32_MAX)
        return bad_option(word, "patience= and a number", error);
    config->patience = (uint32_t)number;
    return GORDIAN_OK;
}

static gordian_status set_option(struct served_config *config, const struct word *word,
                                 gordian_error *error)
{
    struct word name, value;
    bool drop;
    word_split(word, &name, &value);
    if (!value.text)
        return bad_option(word, "key=value", error);
    if (word_is(&name, "engine"))
        return set_engine(config, word, &value, error);
    if (word_is(&name, "recover"))
        return set_recover(config, word, &value, error);
    if (word_is(&name, "queue") || word_is(&name, "patience"))
        return set_bank_option(config, word, &name, &value, error);
    if (!word_is(&name, "on-loss"))
        return bad_option(word, "engine=, on-loss=, recover=, queue= or patience=", error);
    if (!one_of(&value, "drop", "keep", &drop))
        return bad_option(word, "on-loss= drop or keep", error);
    config->on_loss = drop ? SERVED_DROP : SERVED_KEEP;
    return GORDIAN_OK;
}

gordian_status served_config_parse(struct served_config *config, const char *text, size_t length,
                                   gordian_error *error)
{
    struct served_config next = *config;
    for (size_t at = 0; at < length;) {
        size_t start = at;
        while (at < length && text[at] != ' ' && text[at] != '\t')
            at++;
        struct word word = {text + start, (uint32_t)(at - start), (uint32_t)start + 1};
        gordian_status status = word.length ? set_option(&next, &word, error) : GORDIAN_OK;
        if (status != GORDIAN_OK)
            return status;
        at++;
    }
    *config = next;
    return GORDIAN_OK;
}

const char *served_config_text(const struct served_config *config,
                               char buffer[SERVED_CONFIG_TEXT_MAX])
{
    int used = snprintf(buffer, SERVED_CONFIG_TEXT_MAX, "engine=%s on-loss=%s", config->engine,
                        config->on_loss == SERVED_DROP ? "drop" : "keep");
    size_t left = SERVED_CONFIG_TEXT_MAX - (size_t)used;
    if (config->kind == SERVED_DETECT)
        snprintf(buffer + used, left, " recover=%s",
                 config->recover ? gordian_policy_text(config->recover) : "none");
    else
        snprintf(buffer + used, left, " queue=%s patience=%u", config->queue ? "yes" : "no",
                 config->patience);
    return buffer;
}

bool served_config_equal(const struct served_config *left, const struct served_config *right)
{
    char a[SERVED_CONFIG_TEXT_MAX], b[SERVED_CONFIG_TEXT_MAX];
    return left->kind == right->kind &&
           strcmp(served_config_text(left, a), served_config_text(right, b)) == 0;
}
