/* Bars, paragraphs, headlines and percentages (see table.h). */
#include "sim/report/table.h"
#include <ctype.h>
#include <string.h>

char *sw_bar(char *buf, size_t n, const sw_style *style, double fraction, int width) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t at = 0;
    if (n == 0) return buf;
    buf[0] = 0;
    if (!(fraction > 0)) return buf;
    if (fraction > 1) fraction = 1;
    int steps = style->blocks ? 8 : 1;
    int units = (int)(fraction * width * steps + 0.5);
    if (units == 0) units = 1; /* there is something */
    for (int i = 0; i < units / steps; i++) {
        const char *full = style->blocks ? "█" : "#";
        if (at + strlen(full) + 4 > n) return buf;
        at += (size_t)snprintf(buf + at, n - at, "%s", full);
    }
    if (style->blocks && at + 4 <= n) snprintf(buf + at, n - at, "%s", eighths[units % 8]);
    return buf;
}

static const char *tone_on(const sw_style *s, sw_tone tone) {
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
    return s->colour ? codes[tone] : "";
}

/* The next word; a number and its unit are one. */
static size_t word_bytes(const char *text) {
    size_t n = strcspn(text, " ");
    if (n && isdigit((unsigned char)text[n - 1]) && text[n] == ' ') {
        const char *next = text + n + 1;
        size_t m = strcspn(next, " ");
        if (m > 0 && m <= 8 && (isalpha((unsigned char)*next) || *next == '%')) n += 1 + m;
    }
    return n;
}

void sw_paragraph(const sw_style *style, FILE *out, int indent, int hang, sw_tone tone,
                  const char *text) {
    int at = indent;
    bool fresh = true;
    fprintf(out, "%*s%s", indent, "", tone_on(style, tone));
    while (*text) {
        char word[256];
        size_t n = word_bytes(text);
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
        int w = sw_text_width(word);
        if (!fresh && at + 1 + w > style->width) {
            fprintf(out, "\n%*s", hang, "");
            at = hang, fresh = true;
        }
        if (!fresh) fputc(' ', out), at++;
        fputs(word, out);
        at += w, fresh = false;
        text += n < sizeof word ? n : sizeof word - 1;
        while (*text == ' ') text++;
    }
    fprintf(out, "%s\n", *tone_on(style, tone) ? "\033[0m" : "");
}

void sw_heading(const sw_style *style, FILE *out, const char *text) {
    fprintf(out, "\n%s%s%s\n", tone_on(style, SW_TONE_BOLD), text, style->colour ? "\033[0m" : "");
}

void sw_permille(const double *parts, int n, int *out) {
    double sum = 0, rest[64];
    int given = 0;
    for (int i = 0; i < n; i++) sum += parts[i] > 0 ? parts[i] : 0, out[i] = 0;
    if (!(sum > 0) || n > 64) return;
    for (int i = 0; i < n; i++) {
        double x = parts[i] > 0 ? parts[i] / sum * 1000 : 0;
        out[i] = (int)x;
        rest[i] = x - out[i];
        given += out[i];
    }
    for (; given < 1000; given++) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (rest[i] > rest[best]) best = i;
        out[best]++;
        rest[best] = -1;
    }
}
