/* Connection of a command to a running service: its address, credentials, and advice for failures.
 */
#pragma once

#include "cli/base/cli.h"

#include <gordian/client.h>

struct reach {
    gordian_client_options options;
    const char *to, *token_file;
    const char *uri; /* the address, after reach_open */
    char usual[300];
    char token[600];
    int code; /* reason of a failure: see gordian_client_options */
};

/* Options for the connection. */
#define REACH_TO(reach)                                                                            \
    {                                                                                              \
        "to", 't', "URI",                                                                          \
            "the service: unix:PATH, tcp://HOST:PORT or\ntls://HOST:PORT; several servers of it "  \
            "with\ncommas between (default: $GORDIAN_SERVICE, or\nthe usual socket)",              \
            OPTION_TEXT, &(reach).to, NULL                                                         \
    }
#define REACH_SAFELY(reach)                                                                        \
    {"token-file",        0,   "FILE", "file with the token for the service", OPTION_FILE,         \
     &(reach).token_file, NULL},                                                                   \
        {"tls-ca",    0,                                                                           \
         "FILE",      "authorities to trust (default: the system's)",                              \
         OPTION_FILE, &(reach).options.tls_ca,                                                     \
         NULL},                                                                                    \
        {"tls-name",  0,                                                                           \
         "NAME",      "whose certificate to expect (default: HOST's)",                             \
         OPTION_TEXT, &(reach).options.tls_name,                                                   \
         NULL},                                                                                    \
        {"tls-cert",  0,                                                                           \
         "FILE",      "client certificate, if the service asks for one",                           \
         OPTION_FILE, &(reach).options.tls_certificate,                                            \
         NULL},                                                                                    \
    {                                                                                              \
        "tls-key", 0, "FILE", "key of the client certificate", OPTION_FILE,                        \
            &(reach).options.tls_key, NULL                                                         \
    }

/* Sets the defaults. Call it before options are parsed. */
void reach_init(struct reach *reach, const char *name);
/* Reads the token file, if given. */
gordian_status reach_prepare(struct reach *reach, gordian_error *error);
/* Connects. The error message includes advice. */
gordian_status reach_open(struct reach *reach, gordian_client **client, gordian_error *error);
/* Appends advice to an error message of the client. */
gordian_status reach_explain(const struct reach *reach, gordian_error *error);
