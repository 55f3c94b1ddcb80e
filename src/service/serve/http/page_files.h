/* What the build step writes (web/embed.mjs), or page_none.c where the page is left out. */
#pragma once

#include "service/serve/http/page.h"

extern const struct page_file page_files[]; /* up to the one whose path is NULL */
extern const char page_instead[];           /* what "/" says when there are none */
