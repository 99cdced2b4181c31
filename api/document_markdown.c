/* GitHub's flavour. */
#include "api/document.h"
#include "api/markup.h"

static void heading(struct document *document, unsigned level, const char *text)
{
    text_addf(&document->out, "%.*s ", (int)level, "######");
    markdown_add(&document->out, text);
    text_addf(&document->out, "\n\n");
}

static void begin(struct document *document, const char *title)
{
    heading(document, 1, title);
}

static void paragraph(struct document *document, const char *text)
{
    markdown_add(&document->out, text);
    text_addf(&document->out, "\n\n");
}

static void open_part(struct document *document unused, enum part part unused)
{
}

static void close_part(struct document *document, enum part part unused)
{
    text_addf(&document->out, "\n");
}

static void item(struct document *document, const char *text)
{
    text_addf(&document->out, "- ");
    markdown_add(&document->out, text);
    text_addf(&document->out, "\n");
}

static void row(struct document *document, const char *const *cells)
{
    text_addf(&document->out, "|");
    for (size_t i = 0; i < document->columns; i++) {
        text_addf(&document->out, " ");
        markdown_add(&document->out, cells[i]);
        text_addf(&document->out, " |");
    }
    text_addf(&document->out, "\n");
    if (document->has_head)
        return;
    text_addf(&document->out, "|");
    for (size_t i = 0; i < document->columns; i++)
        text_addf(&document->out, i < document->texts ? "---|" : "--:|");
    text_addf(&document->out, "\n");
}

static void end(struct document *document unused)
{
}

const struct document_kind document_markdown = {
    .begin = begin,
    .heading = heading,
    .paragraph = paragraph,
    .open = open_part,
    .close = close_part,
    .item = item,
    .row = row,
    .end = end,
};
