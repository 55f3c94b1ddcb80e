#include "cli/service/service_connection.h"

#include "foundation/base/error.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 5000
#define ANSWER_MS  30000

void reach_init(struct reach *reach, const char *name)
{
    *reach = (struct reach){0};
    gordian_client_options_init(&reach->options);
    reach->options.name = name;
    reach->options.connect_ms = CONNECT_MS;
    reach->options.timeout_ms = ANSWER_MS;
    reach->options.code = &reach->code;
}

static const char *advice_on(int code)
{
    switch (code) {
    case -ENOENT:
    case -ECONNREFUSED:
        return ": no service is running: start one with 'gordian serve', or give its address with "
               "--to";
    case -EACCES:
        return ": permission denied: give access with --socket-group or --allow-uid of 'gordian "
               "serve'";
    case WIRE_NOT_ALLOWED:
        return ": give a token with --token-file";
    case WIRE_NO_SYSTEM:
        return ": make it with 'gordian send --open detect' or '--open avoid'";
    default:
        return "";
    }
}

gordian_status reach_explain(const struct reach *reach, gordian_error *error)
{
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, "%s", advice_on(reach->code));
    return error->status;
}

/* Reads the token from the first line of a file. */
static gordian_status read_token(struct reach *reach, gordian_error *error)
{
    const char *path = reach->token_file;
    FILE *file = fopen(path, "re");
    if (!file)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%.200s': %s", path, strerror(errno));
    bool good = fgets(reach->token, sizeof reach->token, file) != NULL;
    fclose(file);
    if (good)
        reach->token[strcspn(reach->token, "\r\n")] = '\0';
    if (!good || !*reach->token || strpbrk(reach->token, " \t#"))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.200s': expected a token without blanks", path);
    reach->options.token = reach->token;
    return GORDIAN_OK;
}

gordian_status reach_prepare(struct reach *reach, gordian_error *error)
{
    return reach->token_file && !*reach->token ? read_token(reach, error) : GORDIAN_OK;
}

gordian_status reach_open(struct reach *reach, gordian_client **client, gordian_error *error)
{
    *client = NULL;
    reach->uri = reach->to ? reach->to : getenv("GORDIAN_SERVICE");
    if (!reach->uri || !*reach->uri)
        reach->uri = gordian_client_usual_uri(reach->usual, sizeof reach->usual);
    TRY(reach_prepare(reach, error));
    reach->code = 0;
    gordian_status status = gordian_client_open(client, reach->uri, &reach->options, error);
    return status == GORDIAN_OK ? status : reach_explain(reach, error);
}
