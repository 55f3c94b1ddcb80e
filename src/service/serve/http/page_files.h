/* Written by the build (web/embed.mjs), or page_none.c without the page. */
#pragma once

#include "service/serve/http/page.h"

extern const struct page_file page_files[]; /* ended by a NULL path */
extern const char page_instead[];           /* body of "/" if there are none */
