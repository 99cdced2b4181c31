#include "api/chart_svg.h"

#include "api/markup.h"
#include "api/ticks.h"
#include "engine/words.h"

#include <math.h>

enum { LEFT = 66, RIGHT = 18, TOP = 34, BOTTOM = 46, X_TICK_EVERY = 90, Y_TICK_EVERY = 42 };

struct frame {
    const struct chart *chart;
    struct text out;
    double left, right, top, bottom;     /* pixels of the plot's edges */
    double x_low, x_high, y_low, y_high; /* what they stand for */
};

static double pixel_x(const struct frame *f, double x)
{
    return f->left + (x - f->x_low) / (f->x_high - f->x_low) * (f->right - f->left);
}

static double pixel_y(const struct frame *f, double y)
{
    return f->bottom - (y - f->y_low) / (f->y_high - f->y_low) * (f->bottom - f->top);
}

static bool is_point(const struct series *s, size_t i)
{
    return isfinite(s->x[i]) && isfinite(s->min[i]) && isfinite(s->max[i]) && isfinite(s->mean[i]);
}

/* y begins at 0, so that heights can be compared; x at the first sample. */
static void find_ranges(struct frame *f)
{
    const struct series *s = f->chart->series;
    f->x_low = f->y_low = INFINITY;
    f->x_high = f->y_high = -INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        if (!is_point(s, i))
            continue;
        f->x_low = fmin(f->x_low, s->x[i]);
        f->x_high = fmax(f->x_high, s->x[i]);
        f->y_low = fmin(f->y_low, s->min[i]);
        f->y_high = fmax(f->y_high, s->max[i]);
    }
    f->y_low = fmin(0, f->y_low);
    if (f->y_high <= f->y_low)
        f->y_high = f->y_low + 1;
    f->y_high += 0.06 * (f->y_high - f->y_low);
    /* A series that starts near nothing starts at nothing. */
    if (f->x_low > 0 && f->x_low < 0.1 * f->x_high)
        f->x_low = 0;
    if (f->x_high <= f->x_low) {
        f->x_low -= 0.5;
        f->x_high = f->x_low + 1;
    }
}

static void add_text(struct frame *f, double x, double y, const char *anchor, const char *class,
                     const char *fill, const char *text)
{
    text_addf(&f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\" fill=\"%s\">",
              x, y, anchor, class, fill);
    xml_add(&f->out, text);
    text_addf(&f->out, "</text>\n");
}

static void add_rect(struct frame *f, double from, double to, const char *class, const char *fill,
                     double opacity)
{
    double left = fmax(f->left, pixel_x(f, from)), right = fmin(f->right, pixel_x(f, to));
    if (right > left)
        text_addf(&f->out,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\" "
                  "fill=\"%s\" fill-opacity=\"%.2f\"/>\n",
                  left, f->top, right - left, f->bottom - f->top, class, fill, opacity);
}

/* --- the paper --- */

static void draw_zones(struct frame *f)
{
    const struct chart *chart = f->chart;
    double from = f->x_low;
    for (size_t i = 0; i < chart->zones; i++) {
        char name[32];
        double to = chart->zone_end[i];
        double middle = (fmax(f->left, pixel_x(f, from)) + fmin(f->right, pixel_x(f, to))) / 2;
        if (i % 2 == 0)
            add_rect(f, from, to, "pc-zone", "#eef1f4", 1);
        snprintf(name, sizeof name, "zone %zu", i + 1);
        add_text(f, middle, f->bottom - 7, "middle", "pc-tick", "#52616f", name);
        from = to;
    }
}

static void draw_axes(struct frame *f)
{
    const struct chart *chart = f->chart;
    struct ticks x, y;
    ticks_of(f->x_low, f->x_high, (size_t)((f->right - f->left) / X_TICK_EVERY), chart->x_unit, &x);
    ticks_of(f->y_low, f->y_high, (size_t)((f->bottom - f->top) / Y_TICK_EVERY), chart->y_unit, &y);
    for (size_t i = 0; i < y.n; i++) {
        text_addf(&f->out, "<path d=\"M%.1f,%.1fH%.1f\" class=\"pc-grid\" stroke=\"#dfe5ea\"/>\n",
                  f->left, pixel_y(f, y.at[i]), f->right);
        add_text(f, f->left - 8, pixel_y(f, y.at[i]) + 4, "end", "pc-tick", "#52616f", y.label[i]);
    }
    text_addf(&f->out, "<path d=\"M%.1f,%.1fH%.1f\" class=\"pc-axis\" stroke=\"#8292a1\"/>\n",
              f->left, f->bottom, f->right);
    for (size_t i = 0; i < x.n; i++) {
        text_addf(&f->out, "<path d=\"M%.1f,%.1fv5\" class=\"pc-axis\" stroke=\"#8292a1\"/>\n",
                  pixel_x(f, x.at[i]), f->bottom);
        add_text(f, pixel_x(f, x.at[i]), f->bottom + 18, "middle", "pc-tick", "#52616f",
                 x.label[i]);
    }
    add_text(f, (f->left + f->right) / 2, f->bottom + 36, "middle", "pc-text", "#16222d",
             chart->x_unit);
}

/* --- the series --- */

/* From `from` to the next gap. */
static size_t stretch_end(const struct series *s, size_t from)
{
    while (from < s->n && is_point(s, from))
        from++;
    return from;
}

static void add_points(struct frame *f, const double *y, size_t from, size_t to)
{
    const double *x = f->chart->series->x;
    for (size_t i = from; i < to; i++)
        text_addf(&f->out, "%c%.1f,%.1f", i == from ? 'M' : 'L', pixel_x(f, x[i]),
                  pixel_y(f, y[i]));
}

static void draw_stretch(struct frame *f, size_t from, size_t to)
{
    const struct series *s = f->chart->series;
    text_addf(&f->out, "<path class=\"pc-band\" fill=\"#0a5aa6\" fill-opacity=\"0.2\" "
                       "stroke=\"#0a5aa6\" stroke-opacity=\"0.35\" stroke-width=\"0.7\" d=\"");
    add_points(f, s->max, from, to);
    for (size_t i = to; i-- > from;)
        text_addf(&f->out, "L%.1f,%.1f", pixel_x(f, s->x[i]), pixel_y(f, s->min[i]));
    text_addf(&f->out, "Z\"/>\n<path class=\"pc-mean\" fill=\"none\" stroke=\"#0a5aa6\" "
                       "stroke-width=\"1.6\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
                       "d=\"");
    add_points(f, s->mean, from, to);
    text_addf(&f->out, "%s\"/>\n", to - from == 1 ? "h0.1" : "");
}

static void draw_series(struct frame *f)
{
    const struct series *s = f->chart->series;
    for (size_t from = 0; from < s->n;) {
        size_t to = stretch_end(s, from);
        if (to > from)
            draw_stretch(f, from, to);
        from = to + 1;
    }
}

/* --- what was found --- */

static void add_mark(struct frame *f, double at, double y, const char *name, const char *colour,
                     const char *text)
{
    double x = pixel_x(f, at);
    bool beyond = x > (f->left + f->right) / 2;
    if (x < f->left - 1 || x > f->right + 1)
        return;
    text_addf(&f->out,
              "<path d=\"M%.1f,%.1fV%.1f\" class=\"pc-%s\" stroke=\"%s\" stroke-width=\"1.4\" "
              "stroke-dasharray=\"5 3\"/>\n",
              x, f->top, f->bottom, name, colour);
    /* With a rim of paper, for it may stand on another line. */
    text_addf(&f->out,
              "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"pc-%s-text pc-rim\" "
              "fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"4\" paint-order=\"stroke\">",
              x + (beyond ? -6 : 6), y, beyond ? "end" : "start", name, colour);
    xml_add(&f->out, text);
    text_addf(&f->out, "</text>\n");
}

static void draw_marks(struct frame *f)
{
    const struct chart *chart = f->chart;
    char at[WORDS], text[96];
    if (chart->has_knee) {
        add_rect(f, chart->knee_low, chart->knee_high, "pc-knee-range", "#8a4b00", 0.15);
        snprintf(text, sizeof text, "knee at %s", words_count(chart->knee, at));
        add_mark(f, chart->knee, f->top + 13, "knee", "#8a4b00", text);
    }
    if (isfinite(chart->limit)) {
        snprintf(text, sizeof text, "%s at %s", chart->limit_name, words_count(chart->limit, at));
        add_mark(f, chart->limit, f->top + 29, "limit", "#ad1f1f", text);
    }
}

char *chart_svg(const struct chart *chart, enum chart_place place)
{
    struct frame f = { .chart = chart,
                       .left = LEFT,
                       .right = (double)chart->width - RIGHT,
                       .top = TOP,
                       .bottom = (double)chart->height - BOTTOM };
    text_addf(&f.out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %llu %llu\" "
              "width=\"%llu\" height=\"%llu\" font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', "
              "sans-serif\" font-size=\"12\">\n<title>",
              (unsigned long long)chart->width, (unsigned long long)chart->height,
              (unsigned long long)chart->width, (unsigned long long)chart->height);
    xml_add(&f.out, chart->title);
    text_addf(&f.out, "</title>\n");
    if (place == CHART_ALONE)
        text_addf(&f.out, "<style>%s</style>\n", CHART_CSS);
    text_addf(&f.out, "<rect width=\"100%%\" height=\"100%%\" class=\"pc-paper\" "
                      "fill=\"#ffffff\"/>\n");
    text_addf(&f.out, "<g font-size=\"14\" font-weight=\"600\">");
    add_text(&f, LEFT, 21, "start", "pc-text", "#16222d", chart->title);
    text_addf(&f.out, "</g>\n");
    find_ranges(&f);
    if (isfinite(f.x_low)) {
        draw_zones(&f);
        draw_axes(&f);
        draw_series(&f);
        draw_marks(&f);
    } else {
        add_text(&f, (f.left + f.right) / 2, (f.top + f.bottom) / 2, "middle", "pc-tick", "#52616f",
                 "no samples");
    }
    text_addf(&f.out, "</svg>\n");
    return text_take(&f.out);
}
