/* A build without the page: an empty table and a replacement for "/". */
#include "service/serve/http/page_files.h"

const struct page_file page_files[] = {{.path = NULL}};
const char page_instead[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><meta charset=\"utf-8\"><title>Gordian</title>\n"
    "<h1>Gordian is running without its web page</h1>\n"
    "<p>The page was left out: this program was built without node or the packages it needs.\n"
    "<p>With <a href=\"https://nodejs.org/\">node</a> 18 or newer and npm,"
    " <code>make deps build</code> adds it.\n"
    "<p>The same information is available here:\n"
    "<ul><li><a href=\"api/v1/systems\">the systems</a>, as JSON\n"
    "<li><a href=\"api/v1/incidents\">the deadlocks</a>, as JSON\n"
    "<li><a href=\"metrics\">metrics</a>, for Prometheus\n"
    "<li><code>gordian tail</code>, in a shell</ul>\n";
