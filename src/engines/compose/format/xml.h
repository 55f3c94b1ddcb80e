/*
 * The subset of XML that PNML needs: elements, attributes, text, comments, CDATA, the five entities
 * and character references. Document types are not supported, so no input expands or reads other
 * files. Deeply nested input is rejected. Names are returned without their prefix.
 */
#pragma once

#include "engines/compose/circuit/text_fault.h"

#define XML_DEPTH_MAX      64u
#define XML_ATTRIBUTES_MAX 32u

enum xml_event {
    XML_OPEN,
    XML_CLOSE, /* also for an element without content */
    XML_TEXT,
    XML_END,
};

struct xml_slice {
    const char *text;
    size_t length;
};

struct xml {
    struct text_scan scan;
    struct xml_slice open[XML_DEPTH_MAX]; /* the enclosing elements with their full names */
    size_t depth;
    bool empty; /* the current element has no content: XML_CLOSE comes next */
    bool plain; /* the current text is CDATA */
    struct xml_slice name, text;
    struct {
        struct xml_slice name, value;
    } attributes[XML_ATTRIBUTES_MAX];
    size_t attribute_count;
    const char *place; /* start of the event */
};

void xml_open(struct xml *xml, const struct text *text, gordian_fault *fault, gordian_error *error);
gordian_status xml_next(struct xml *xml, enum xml_event *event);
/* Reports an error at the current event. */
gordian_status xml_complain(const struct xml *xml, const char *what);

bool xml_is(const struct xml *xml, const char *name);
/* Does the opened element have this attribute? */
bool xml_has(const struct xml *xml, const char *name);
/* Copies the attribute of the opened element, NUL-terminated. False: there is none, or it is
 * longer. */
bool xml_attribute(const struct xml *xml, const char *name, char *buffer, size_t size);
/* Copies the current text without blanks around it. */
bool xml_text(const struct xml *xml, char *buffer, size_t size);
