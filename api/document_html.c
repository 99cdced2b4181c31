/* One file without scripts: it looks the same in a mail, in an archive and offline. */
#include "api/chart_svg.h"
#include "api/document.h"
#include "api/markup.h"

const char document_css[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#16222d;--muted:#52616f;--edge:#d5dce3;"
    "--head:#eef1f4}"
    "@media(prefers-color-scheme:dark){:root{--paper:#161e26;--ink:#e3e9ef;--muted:#9dabb8;"
    "--edge:#2b3742;--head:#1d2731}}"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:15px/1.5 system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
    "main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 3rem}"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin:2rem 0 .5rem;"
    "border-bottom:1px solid var(--edge);padding-bottom:.25rem}h3{font-size:1rem;margin:1rem 0 "
    ".25rem}"
    "p,li,td{overflow-wrap:anywhere}ul{margin:.25rem 0;padding-left:1.25rem}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{border:1px solid var(--edge);padding:.25rem .6rem;text-align:left;vertical-align:top}"
    "th{background:var(--head);font-weight:600}.n{text-align:right;white-space:nowrap}"
    "figure{margin:.75rem 0}svg{max-width:100%;height:auto;border:1px solid var(--edge)}"
    "@media "
    "print{main{max-width:none}h2{break-after:avoid}figure,tr{break-inside:avoid}}" CHART_CSS;

static void element(struct document *document, const char *name, const char *text)
{
    text_addf(&document->out, "<%s>", name);
    xml_add(&document->out, text);
    text_addf(&document->out, "</%s>\n", name);
}

static void begin(struct document *document, const char *title)
{
    text_addf(&document->out,
              "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    element(document, "title", title);
    text_addf(&document->out, "<style>%s</style>\n</head>\n<body>\n<main>\n", document_css);
    element(document, "h1", title);
}

static void heading(struct document *document, unsigned level, const char *text)
{
    char name[4] = { 'h', (char)('0' + level % 10), '\0', '\0' };
    element(document, name, text);
}

static void paragraph(struct document *document, const char *text)
{
    element(document, "p", text);
}

static void picture(struct document *document, const char *svg)
{
    text_addf(&document->out, "<figure>\n");
    text_add(&document->out, svg, strlen(svg));
    text_addf(&document->out, "</figure>\n");
}

static void open_part(struct document *document, enum part part)
{
    text_addf(&document->out, part == PART_LIST ? "<ul>\n" : "<div class=\"scroll\"><table>\n");
}

static void close_part(struct document *document, enum part part)
{
    text_addf(&document->out, part == PART_LIST ? "</ul>\n" : "</tbody></table></div>\n");
}

static void item(struct document *document, const char *text)
{
    element(document, "li", text);
}

static void row(struct document *document, const char *const *cells)
{
    const char *cell = document->has_head ? "td" : "th";
    text_addf(&document->out, document->has_head ? "<tr>" : "<thead><tr>");
    for (size_t i = 0; i < document->columns; i++) {
        text_addf(&document->out, "<%s%s>", cell, i < document->texts ? "" : " class=\"n\"");
        xml_add(&document->out, cells[i]);
        text_addf(&document->out, "</%s>", cell);
    }
    text_addf(&document->out, document->has_head ? "</tr>\n" : "</tr></thead><tbody>\n");
}

static void end(struct document *document)
{
    text_addf(&document->out, "</main>\n</body>\n</html>\n");
}

const struct document_kind document_html = {
    .begin = begin,
    .heading = heading,
    .paragraph = paragraph,
    .picture = picture,
    .open = open_part,
    .close = close_part,
    .item = item,
    .row = row,
    .end = end,
};
