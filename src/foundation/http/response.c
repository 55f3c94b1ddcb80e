/* Writes the head of an HTTP response. */
#include "foundation/http/response.h"

#include <stdio.h>
#include <time.h>

static const char *status_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

static const char *date_now(char *buffer, size_t size)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm); /* not strftime: day names depend on the locale */
    snprintf(buffer, size, "%s, %02d %s %d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
             months[tm.tm_mon], 1900 + tm.tm_year, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return buffer;
}

void http_write_head(struct output *out, int status, const char *type, const char *headers,
                     size_t length, bool keep_alive)
{
    char date[64];
    output_format(out, "HTTP/1.1 %d %s\r\nDate: %s\r\nConnection: %s\r\n", status,
                  status_reason(status), date_now(date, sizeof date),
                  keep_alive ? "keep-alive" : "close");
    if (length != SIZE_MAX && status != 304 && status != 204)
        output_format(out, "Content-Length: %zu\r\n", length);
    if (type)
        output_format(out, "Content-Type: %s\r\n", type);
    output_text(out, headers ? headers : "");
    output_text(out, "\r\n");
}
