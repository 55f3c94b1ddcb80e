/* The page: the files of web/ as Vite built them, inside the program.
 *
 *     const struct page_file *file = page_find("/");
 *     if (!file)
 *         ... 404, or page_missing() for "/"
 *     if (page_is_fresh(file, if_none_match))
 *         ... 304 with page_headers()
 *     else if (page_takes_gzip(accept_encoding))
 *         ... file->zipped with Content-Encoding: gzip
 *
 * Nothing here allocates, prints or waits. Without node at build time the table is empty and
 * page_missing() tells how to get the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    const char *path; /* as asked for: "/", "/assets/index-1a2b3c4d.js" */
    const char *type; /* Content-Type */
    const char *etag; /* with its quotes; the same for both forms but for its "-gz" */
    const char *etag_zipped;
    const unsigned char *plain;
    size_t plain_size;
    const unsigned char *zipped; /* gzip; NULL where that is not smaller */
    size_t zipped_size;
    bool hashed; /* its content is in its name: may be cached for ever */
};

/* The file at a path (no query), or NULL. "/index.html" is "/". */
const struct page_file *page_find(const char *path);

/* For tests: false when the page was left out of this build. */
bool page_is_built(void);

/* What "/" answers (text/html, with status 200) when the page was left out: why, and how to get it.
 */
const char *page_missing(void);

/* Of a header Accept-Encoding (NULL: not there): may the answer be gzip? */
bool page_takes_gzip(const char *accept_encoding);

/* Of a header If-None-Match (NULL: not there): does the client have this file? Either form counts.
 */
bool page_is_fresh(const struct page_file *file, const char *if_none_match);

struct page_header {
    const char *name;
    const char *value;
};

/* Headers for every answer of a file or of page_missing(), up to the one whose name is NULL: the
 * content security policy, no sniffing, no framing, Vary, Cache-Control. `file` may be NULL
 * (page_missing). The caller adds Content-Type, ETag and Content-Encoding. */
const struct page_header *page_headers(const struct page_file *file);
