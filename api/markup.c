#include "api/markup.h"

void markdown_add(struct text *out, const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            text_add(out, " ", 1);
        else if (*text ==
                 '<') /* a backslash would do, but not for every reader of HTML in Markdown */
            text_add(out, "&lt;", 4);
        else if (*text == '&')
            text_add(out, "&amp;", 5);
        else
            text_addf(out, "%s%c", strchr("\\`*_[]>|~#", *text) ? "\\" : "", *text);
    }
}

static const char *entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Of what is UTF-8, U+FFFE and U+FFFF and all controls but tab and line ends are no XML. */
static bool is_xml(const char *rune, size_t n)
{
    if (n == 0 || (n == 3 && memcmp(rune, "\xef\xbf", 2) == 0 && (unsigned char)rune[2] >= 0xbe))
        return false;
    return (unsigned char)*rune >= 0x20 || strchr("\t\n\r", *rune);
}

void xml_add(struct text *out, const char *text)
{
    while (*text) {
        const char *as = entity(*text);
        size_t n = text_rune(text);
        if (as)
            text_add(out, as, strlen(as));
        else if (is_xml(text, n))
            text_add(out, text, n);
        else
            text_add(out, "?", 1);
        text += n ? n : 1;
    }
}
