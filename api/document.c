#include "api/document.h"

static void switch_to(struct document *document, enum part part)
{
    if (document->part == part && part != PART_TABLE)
        return;
    if (document->part != PART_NONE)
        document->kind->close(document, document->part);
    document->part = part;
    document->has_head = false;
    if (part != PART_NONE)
        document->kind->open(document, part);
}

void document_begin(struct document *document, const struct document_kind *kind, const char *title)
{
    *document = (struct document){ .kind = kind };
    kind->begin(document, title);
}

void document_heading(struct document *document, unsigned level, const char *text)
{
    switch_to(document, PART_NONE);
    document->kind->heading(document, level, text);
}

void document_paragraph(struct document *document, const char *text)
{
    switch_to(document, PART_NONE);
    document->kind->paragraph(document, text);
}

void document_picture(struct document *document, const char *svg)
{
    switch_to(document, PART_NONE);
    if (document->kind->picture)
        document->kind->picture(document, svg);
}

void document_item(struct document *document, const char *text)
{
    switch_to(document, PART_LIST);
    document->kind->item(document, text);
}

void document_table(struct document *document, size_t columns, size_t texts)
{
    switch_to(document, PART_TABLE);
    document->columns = columns;
    document->texts = texts;
}

void document_row(struct document *document, const char *const *cells)
{
    document->kind->row(document, cells);
    document->has_head = true;
}

char *document_end(struct document *document)
{
    switch_to(document, PART_NONE);
    document->kind->end(document);
    return text_take(&document->out);
}
