/* `gordian serve --verify`: does what a start would do, without starting. */
#include "service/serve/server/server.h"

#include "foundation/base/error.h"

static gordian_status verify_section(void *context, const char *name, const void *bytes,
                                     size_t length, gordian_error *error)
{
    return service_load_section(context, name, bytes, length, error);
}

static gordian_status verify_record(void *context, uint64_t number, uint64_t at, const void *bytes,
                                    size_t length, gordian_error *error)
{
    return service_replay(context, number, at, bytes, length, error);
}

gordian_status server_verify(const char *folder, struct server_verdict *verdict,
                             gordian_error *error)
{
    static const struct store_loader loader = {verify_section, verify_record};
    struct service_options options;
    struct service *service;
    service_options_init(&options);
    *verdict = (struct server_verdict){0};
    TRY(service_new(&service, &options, error));
    gordian_status status = store_verify(folder, &loader, service, &verdict->store, error);
    verdict->systems = service->system_count;
    verdict->sessions = service->session_count;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        verdict->processes += served ? served->process_count : 0;
        verdict->deadlocks += served ? served->incident_count : 0;
    }
    service_free(service);
    return status;
}
