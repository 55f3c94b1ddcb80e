#include "foundation/base/error.h"

#include <stdio.h>

gordian_status fail_at_list(gordian_error *error, gordian_status status, uint64_t line,
                            uint64_t column, const char *format, va_list arguments)
{
    if (!error)
        return status;
    error->status = status;
    error->line = line;
    error->column = column;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return status;
}

gordian_status fail(gordian_error *error, gordian_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_at_list(error, status, 0, 0, format, arguments);
    va_end(arguments);
    return status;
}

gordian_status fail_at(gordian_error *error, gordian_status status, uint64_t line, uint64_t column,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_at_list(error, status, line, column, format, arguments);
    va_end(arguments);
    return status;
}

const char *gordian_status_text(gordian_status status)
{
    switch (status) {
    case GORDIAN_OK:
        return "ok";
    case GORDIAN_STATUS_END:
        return "end";
    case GORDIAN_STATUS_INPUT:
        return "bad input";
    case GORDIAN_STATUS_UNAVAILABLE:
        return "not available";
    case GORDIAN_STATUS_MEMORY:
        return "out of memory";
    case GORDIAN_STATUS_IO:
        return "input or output failed";
    case GORDIAN_STATUS_CANCELLED:
        return "cancelled";
    case GORDIAN_STATUS_VICTIM:
        return "ended as a victim";
    }
    return "unknown status";
}
