/* Text from anywhere inside Markdown and XML: shown as it is, never read as markup. */
#pragma once
#include "engine/base/text.h"

/* GitHub's flavour, within one line: control characters and line ends become spaces. */
void markdown_add(struct text *out, const char *text);
/* Content or a quoted attribute of XML 1.0 and HTML; what XML cannot hold becomes '?'. */
void xml_add(struct text *out, const char *text);
