/* Tables, bars and paragraphs (see table.h). */
#include "sim/report/table.h"
#include "sim/base/vec.h"
#include <langinfo.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLS_MAX = 16, GAP = 2 };

/* --- style --------------------------------------------------------------------------------- */

sw_style sw_style_for(FILE *out, bool plain) {
    const char *no = getenv("NO_COLOR"), *cols = getenv("COLUMNS"), *term = getenv("TERM");
    bool no_colour = no && *no, tty = isatty(fileno(out));
    sw_style s = {.width = 100};
    s.blocks = !plain && !no_colour && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    s.colour = !plain && !no_colour && tty && !(term && !strcmp(term, "dumb"));
    struct winsize ws;
    if (tty && ioctl(fileno(out), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
        s.width = ws.ws_col;
    else if (cols && atoi(cols) > 0)
        s.width = atoi(cols);
    if (s.width < 40) s.width = 40;
    if (s.width > 160) s.width = 160;
    return s;
}

static const char *tone_on(const sw_style *s, sw_tone tone) {
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
    return s->colour ? codes[tone] : "";
}
static const char *tone_off(const sw_style *s, sw_tone tone) {
    return s->colour && tone != SW_TONE_NONE ? "\033[0m" : "";
}

/* --- widths -------------------------------------------------------------------------------- */

/* The code point at *p, which moves on; a stray byte counts as itself. */
static uint32_t next_point(const char **p) {
    const unsigned char *u = (const unsigned char *)*p;
    int n = u[0] < 0x80 ? 0 : u[0] >= 0xf0 ? 3 : u[0] >= 0xe0 ? 2 : u[0] >= 0xc0 ? 1 : 0;
    uint32_t c = n == 0 ? u[0] : u[0] & (0x3fu >> n);
    int i = 1;
    for (; i <= n && (u[i] & 0xc0) == 0x80; i++) c = c << 6 | (u[i] & 0x3fu);
    *p += i;
    return c;
}

static int point_width(uint32_t c) {
    if (c >= 0x300 && c <= 0x36f) return 0;
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || c >= 0x1f300;
    return wide ? 2 : 1;
}

int sw_text_width(const char *text) {
    int w = 0;
    while (*text) w += point_width(next_point(&text));
    return w;
}

/* Bytes of the longest beginning of text that takes at most `width` columns. */
static size_t fit_bytes(const char *text, int width) {
    const char *p = text;
    while (*p) {
        const char *before = p;
        width -= point_width(next_point(&p));
        if (width < 0) return (size_t)(before - text);
    }
    return (size_t)(p - text);
}

/* --- tables -------------------------------------------------------------------------------- */

typedef struct cell {
    char *text;
    sw_tone tone;
    bool span;
} cell;

typedef struct row {
    cell cells[COLS_MAX];
    int n;
    bool rule; /* before it */
} row;

struct sw_table {
    const sw_column *columns;
    int n, indent;
    bool lost, rule;
    SW_VEC(row) rows;
};

sw_table *sw_table_new(const sw_column *columns, int n, int indent) {
    sw_table *t = n > 0 && n <= COLS_MAX ? sw_zalloc(1, sizeof *t) : NULL;
    if (t) t->columns = columns, t->n = n, t->indent = indent;
    return t;
}

void sw_table_rule(sw_table *t) {
    if (t) t->rule = true;
}

void sw_table_row(sw_table *t) {
    if (!t) return;
    row r = {.rule = t->rule};
    t->rule = false;
    if (!sw_vec_push(&t->rows, r)) t->lost = true;
}

static void put(sw_table *t, sw_tone tone, bool span, const char *fmt, va_list args) {
    if (!t || !t->rows.n || t->lost) return;
    row *r = &t->rows.v[t->rows.n - 1];
    if (r->n >= t->n) return;
    char buf[401];
    vsnprintf(buf, sizeof buf, fmt, args);
    cell c = {sw_strdup(buf), tone, span};
    if (!c.text) t->lost = true;
    r->cells[r->n++] = c;
    if (span)
        while (r->n < t->n) r->cells[r->n++] = (cell){0};
}

void sw_table_cell(sw_table *t, sw_tone tone, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    put(t, tone, false, fmt, args);
    va_end(args);
}

void sw_table_span(sw_table *t, sw_tone tone, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    put(t, tone, true, fmt, args);
    va_end(args);
}

static void blanks(FILE *out, int n) {
    if (n > 0) fprintf(out, "%*s", n, "");
}

/* One cell in its column; blanks behind it only if something follows. */
static void put_cell(const sw_style *s, FILE *out, const char *text, sw_tone tone, sw_align align,
                     int width, bool last) {
    int w = sw_text_width(text);
    const char *dots = "";
    size_t bytes = strlen(text);
    if (w > width) {
        dots = s->blocks ? "…" : ".";
        bytes = fit_bytes(text, width - 1);
        w = width;
    }
    if (align == SW_RIGHT) blanks(out, width - w);
    if (!bytes && !*dots) tone = SW_TONE_NONE;
    fprintf(out, "%s%.*s%s%s", tone_on(s, tone), (int)bytes, text, dots, tone_off(s, tone));
    if (align == SW_LEFT && !last) blanks(out, width - w);
}

static void rule(const sw_style *s, FILE *out, int indent, int width) {
    blanks(out, indent);
    fputs(tone_on(s, SW_TONE_DIM), out);
    for (int i = 0; i < width; i++) fputs(s->blocks ? "─" : "-", out);
    fprintf(out, "%s\n", tone_off(s, SW_TONE_DIM));
}

static void measure(const sw_table *t, const sw_style *s, int *width, int *total) {
    for (int c = 0; c < t->n; c++) {
        const sw_column *col = &t->columns[c];
        width[c] = col->title ? sw_text_width(col->title) : 0;
        if (col->unit && sw_text_width(col->unit) > width[c]) width[c] = sw_text_width(col->unit);
    }
    for (size_t r = 0; r < t->rows.n; r++)
        for (int c = 0; c < t->rows.v[r].n; c++) {
            const cell *x = &t->rows.v[r].cells[c];
            int w = x->text && !x->span ? sw_text_width(x->text) : 0;
            if (w > width[c]) width[c] = w;
        }
    int longest = 0;
    *total = (t->n - 1) * GAP;
    for (int c = 0; c < t->n; c++) *total += width[c];
    for (size_t r = 0; r < t->rows.n; r++) { /* the rule is as long as the longest sentence */
        int at = 0;
        for (int c = 0; c < t->rows.v[r].n; at += width[c++] + GAP) {
            const cell *x = &t->rows.v[r].cells[c];
            int w = x->text && x->span ? at + sw_text_width(x->text) : 0;
            if (w > s->width - t->indent) w = s->width - t->indent;
            if (w > longest) longest = w;
        }
    }
    for (int over = *total + t->indent - s->width; over > 0;) { /* cut the widest that may be cut */
        int widest = -1;
        for (int c = 0; c < t->n; c++)
            if (t->columns[c].shrink && width[c] > 8 && (widest < 0 || width[c] > width[widest]))
                widest = c;
        if (widest < 0) break;
        width[widest]--, over--, --*total;
    }
    if (*total < longest) *total = longest;
}

static void header(const sw_table *t, const sw_style *s, FILE *out, const int *width, bool units) {
    int last = -1;
    for (int c = 0; c < t->n; c++) {
        const char *text = units ? t->columns[c].unit : t->columns[c].title;
        if (text && *text) last = c;
    }
    if (last < 0) return;
    blanks(out, t->indent);
    for (int c = 0; c <= last; c++) {
        const char *text = units ? t->columns[c].unit : t->columns[c].title;
        put_cell(s, out, text ? text : "", units ? SW_TONE_DIM : SW_TONE_BOLD, t->columns[c].align,
                 width[c], c == last);
        if (c < last) blanks(out, GAP);
    }
    fputc('\n', out);
}

/* A sentence from column `at` on, in lines. */
static void put_span(const sw_table *t, const sw_style *s, FILE *out, int at, int room,
                     const cell *x) {
    const char *p = x->text;
    (void)t;
    for (bool first = true; *p; first = false) {
        size_t n = fit_bytes(p, room);
        if (p[n]) {
            size_t k = n;
            while (k > 0 && p[k] != ' ') k--;
            if (k > 0) n = k;
        }
        if (!first) blanks(out, at);
        fprintf(out, "%s%.*s%s", tone_on(s, x->tone), (int)n, p, tone_off(s, x->tone));
        p += n;
        while (*p == ' ') p++;
        if (*p) fputc('\n', out);
    }
}

static void put_row(const sw_table *t, const sw_style *s, FILE *out, const int *width,
                    const row *r) {
    int last = -1, at = t->indent;
    for (int c = 0; c < r->n; c++)
        if (r->cells[c].text && *r->cells[c].text) last = c;
    if (last >= 0) blanks(out, t->indent);
    for (int c = 0; c <= last; c++) {
        const cell *x = &r->cells[c];
        if (x->span) {
            int room = s->width - at > 20 ? s->width - at : 20;
            put_span(t, s, out, at, room, x);
            break;
        }
        put_cell(s, out, x->text ? x->text : "", x->tone, t->columns[c].align, width[c], c == last);
        if (c < last) blanks(out, GAP);
        at += width[c] + GAP;
    }
    fputc('\n', out);
}

sw_status sw_table_print(sw_table *t, const sw_style *style, FILE *out, sw_error *err) {
    if (!t) return sw_fail(err, SW_MEMORY, "out of memory");
    int width[COLS_MAX], total;
    bool lost = t->lost, titles = false;
    measure(t, style, width, &total);
    for (int c = 0; c < t->n; c++) titles = titles || t->columns[c].title;
    if (titles) {
        header(t, style, out, width, false);
        header(t, style, out, width, true);
        rule(style, out, t->indent, total);
    }
    for (size_t r = 0; r < t->rows.n; r++) {
        if (t->rows.v[r].rule) rule(style, out, t->indent, total);
        put_row(t, style, out, width, &t->rows.v[r]);
        for (int c = 0; c < t->rows.v[r].n; c++) free(t->rows.v[r].cells[c].text);
    }
    sw_vec_free(&t->rows);
    free(t);
    return lost ? sw_fail(err, SW_MEMORY, "out of memory") : SW_OK;
}
