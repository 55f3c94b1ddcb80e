/* The embedded page: finds files, and evaluates request headers. */
#include "service/serve/http/page.h"

#include "service/serve/http/page_files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct page_file *page_find(const char *path)
{
    if (strcmp(path, "/index.html") == 0)
        path = "/";
    for (const struct page_file *file = page_files; file->path; file++) {
        if (strcmp(file->path, path) == 0)
            return file;
    }
    return NULL;
}

bool page_is_built(void)
{
    return page_files[0].path != NULL;
}

const char *page_missing(void)
{
    return page_instead;
}

/* ------------------------------------------------------------------ headers */

static const char *skip_header_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* Is q of "gzip;q=0.5" above zero? `text` begins behind the name of the coding. */
static bool has_weight(const char *text, const char *end)
{
    for (; text < end; text++) {
        if (*text != ';')
            continue;
        const char *name = skip_header_blanks(text + 1);
        if ((*name == 'q' || *name == 'Q') && name[1] == '=')
            return strtod(name + 2, NULL) > 0;
    }
    return true;
}

bool page_takes_gzip(const char *accept_encoding)
{
    bool any = false;
    for (const char *item = accept_encoding; item && *item;) {
        item = skip_header_blanks(item);
        const char *end = item + strcspn(item, ",");
        size_t length = strcspn(item, ",; \t");
        if (length == 4 && strncasecmp(item, "gzip", 4) == 0)
            return has_weight(item + length, end);
        if (length == 1 && *item == '*')
            any = has_weight(item + length, end);
        item = *end ? end + 1 : end;
    }
    return any;
}

static bool is_tag(const char *text, size_t length, const char *tag)
{
    return strlen(tag) == length && memcmp(text, tag, length) == 0;
}

/* Compares with a list of tags, also weak ones ("W/..."); both encodings of a file match. */
bool page_is_fresh(const struct page_file *file, const char *if_none_match)
{
    for (const char *item = if_none_match; item && *item;) {
        item = skip_header_blanks(item);
        if (*item == '*')
            return true;
        const char *tag = item[0] == 'W' && item[1] == '/' ? item + 2 : item;
        size_t length = strcspn(tag, ", \t");
        if (is_tag(tag, length, file->etag) || is_tag(tag, length, file->etag_zipped))
            return true;
        item = tag + strcspn(tag, ",");
        if (*item)
            item++;
    }
    return false;
}

/* All resources of the page come from the service, and none is inline. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define COMMON                                                                                     \
    {"Content-Security-Policy", POLICY}, {"X-Content-Type-Options", "nosniff"},                    \
        {"X-Frame-Options", "DENY"}, {"Referrer-Policy", "no-referrer"},                           \
        {"Cross-Origin-Opener-Policy", "same-origin"},                                             \
        {"Cross-Origin-Resource-Policy", "same-origin"},                                           \
    {                                                                                              \
        "Vary", "Accept-Encoding"                                                                  \
    }

const struct page_header *page_headers(const struct page_file *file)
{
    static const struct page_header hashed[] = {
        COMMON, {"Cache-Control", "public, max-age=31536000, immutable"}, {NULL, NULL}};
    static const struct page_header asked[] = {COMMON, {"Cache-Control", "no-cache"}, {NULL, NULL}};
    return file && file->hashed ? hashed : asked;
}
