/* One picture of one series: the band from least to most, the line of means, and what was found. */
#pragma once
#include "schema/store.h"

enum { CHART_ZONES = 16 };

struct chart {
    const char *title, *x_unit, *y_unit;
    uint64_t width, height; /* pixels */
    const struct series *series;
    bool has_knee;
    double knee, knee_low, knee_high; /* of x */
    size_t zones;                     /* their ends, of x; 0: none told apart */
    double zone_end[CHART_ZONES];
    double limit;           /* of x; NAN: none */
    const char *limit_name; /* what was exhausted */
};

enum chart_place {
    CHART_ALONE,
    CHART_IN_PAGE
}; /* with its own style sheet, or within one that has it */
/* Well-formed XML; NULL without memory. */
char *chart_svg(const struct chart *chart, enum chart_place place);

/* Colours for dark; those for light stand at the elements, for whoever drops style sheets. */
#define CHART_CSS                                                                                \
    "@media(prefers-color-scheme:dark){"                                                         \
    ".pc-paper{fill:#161e26}.pc-rim{stroke:#161e26}.pc-text{fill:#e3e9ef}.pc-tick{fill:#9dabb8}" \
    ".pc-grid{stroke:#2b3742}.pc-axis{stroke:#6a7988}.pc-zone{fill:#1d2731}"                     \
    ".pc-band{fill:#6db3f5;stroke:#6db3f5}.pc-mean{stroke:#6db3f5}"                              \
    ".pc-knee{stroke:#f0b35e}.pc-knee-range{fill:#f0b35e}.pc-knee-text{fill:#f0b35e}"            \
    ".pc-limit{stroke:#ff9c94}.pc-limit-text{fill:#ff9c94}}"
