/*
 * As much XML as PNML needs: elements, attributes, text, comments, CDATA, the five entities and
 * characters by number. No document types, and so nothing that grows or reads other files; what is
 * nested too deep is refused. Names are told without their prefix.
 */
#pragma once

#include "engines/compose/circuit/text_fault.h"

#define XML_DEPTH_MAX      64u
#define XML_ATTRIBUTES_MAX 32u

enum xml_event {
    XML_OPEN,
    XML_CLOSE, /* also of an element without content */
    XML_TEXT,
    XML_END,
};

struct xml_slice {
    const char *text;
    size_t length;
};

struct xml {
    struct text_scan scan;
    struct xml_slice open[XML_DEPTH_MAX]; /* the elements around, the whole of their names */
    size_t depth;
    bool empty; /* the element at hand has no content: its close comes next */
    bool plain; /* the text at hand is CDATA */
    struct xml_slice name;
    struct xml_slice text;
    struct {
        struct xml_slice name, value;
    } attributes[XML_ATTRIBUTES_MAX];
    size_t attribute_count;
    const char *place; /* where the event begins */
};

void xml_open(struct xml *xml, const struct text *text, gordian_fault *fault, gordian_error *error);
gordian_status xml_next(struct xml *xml, enum xml_event *event);
/* What is wrong, at the event at hand. */
gordian_status xml_complain(const struct xml *xml, const char *what);

bool xml_is(const struct xml *xml, const char *name);
/* Does the element just opened have this attribute? */
bool xml_has(const struct xml *xml, const char *name);
/* The attribute of the element just opened, with a NUL; false: there is none, or it is longer. */
bool xml_attribute(const struct xml *xml, const char *name, char *buffer, size_t size);
/* The text at hand, without blanks around it. */
bool xml_text(const struct xml *xml, char *buffer, size_t size);
