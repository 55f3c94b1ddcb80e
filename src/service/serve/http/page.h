/* The page: the files of web/ built by Vite, embedded in the program.
 *
 *     const struct page_file *file = page_find("/");
 *     if (!file)
 *         ... 404, or page_missing() for "/"
 *     if (page_is_fresh(file, if_none_match))
 *         ... 304 with page_headers()
 *     else if (page_takes_gzip(accept_encoding))
 *         ... file->zipped with Content-Encoding: gzip
 *
 * Nothing here allocates, prints or blocks. Without node at build time the table is empty, and
 * page_missing() explains how to get the page.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    const char *path; /* as requested: "/", "/assets/index-1a2b3c4d.js" */
    const char *type; /* Content-Type */
    const char *etag; /* with quotes; the compressed form has the suffix "-gz" */
    const char *etag_zipped;
    const unsigned char *plain;
    size_t plain_size;
    const unsigned char *zipped; /* gzip; NULL if it is not smaller */
    size_t zipped_size;
    bool hashed; /* the name contains a hash of the content: may be cached forever */
};

/* Returns the file at a path (without query), or NULL. "/index.html" is "/". */
const struct page_file *page_find(const char *path);

/* For tests: false if this build has no page. */
bool page_is_built(void);

/* Returns the body of "/" (text/html, status 200) of a build without the page. */
const char *page_missing(void);

/* Does an Accept-Encoding header (NULL: absent) allow gzip? */
bool page_takes_gzip(const char *accept_encoding);

/* Does an If-None-Match header (NULL: absent) match this file, in either encoding? */
bool page_is_fresh(const struct page_file *file, const char *if_none_match);

struct page_header {
    const char *name;
    const char *value;
};

/* Returns the headers of responses with a file or page_missing(), ended by a NULL name: content
 * security policy, no sniffing, no framing, Vary, Cache-Control. `file` may be NULL (page_missing).
 * The caller adds Content-Type, ETag and Content-Encoding. */
const struct page_header *page_headers(const struct page_file *file);
