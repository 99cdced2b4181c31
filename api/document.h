/* A report's text, written once and rendered as Markdown or HTML. What is given is plain text: each
 * kind escapes it. */
#pragma once
#include "engine/base/text.h"

enum part { PART_NONE, PART_LIST, PART_TABLE };
struct document;

struct document_kind {
    void (*begin)(struct document *document, const char *title);
    void (*heading)(struct document *document, unsigned level, const char *text);
    void (*paragraph)(struct document *document, const char *text);
    void (*picture)(struct document *document, const char *svg); /* NULL: it cannot hold one */
    void (*open)(struct document *document, enum part part);
    void (*close)(struct document *document, enum part part);
    void (*item)(struct document *document, const char *text);
    void (*row)(struct document *document, const char *const *cells);
    void (*end)(struct document *document);
};
extern const struct document_kind document_markdown, document_html;
extern const char document_css[]; /* the style sheet within the HTML */

struct document {
    const struct document_kind *kind;
    struct text out;
    enum part part; /* that is open */
    /* of the table that is open */
    size_t columns, texts; /* the first `texts` of them are words, the others figures */
    bool has_head;
};

void document_begin(struct document *document, const struct document_kind *kind, const char *title);
void document_heading(struct document *document, unsigned level, const char *text);
void document_paragraph(struct document *document, const char *text);
/* Well-formed SVG, in the page's style; left out where `picture` is NULL. */
void document_picture(struct document *document, const char *svg);
void document_item(struct document *document, const char *text);
/* The first row of a table is its head. */
void document_table(struct document *document, size_t columns, size_t texts);
void document_row(struct document *document, const char *const *cells);
/* The whole, owned by the caller; NULL without memory. */
char *document_end(struct document *document);
