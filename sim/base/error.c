/* Errors: one status, one line of text (see error.h). */
#include "sim/base/error.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at s that may be shown; 0 for a control character (C0, DEL, C1: a
 * terminal would obey) and for a byte that starts none, such as a character cut in two. */
static size_t shown(const unsigned char *s) {
    if (*s < 0x80) return *s >= 0x20 && *s != 0x7f;
    size_t n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    uint32_t c = *s & (0x7fu >> n);
    if (*s < 0xc2 || *s > 0xf4) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool overlong = (n == 3 && c < 0x800) || (n == 4 && c < 0x10000);
    return overlong || c < 0xa0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

/* One line of valid UTF-8, whatever the input held. */
static void put(sw_error *err, size_t at, const char *fmt, va_list ap) {
    vsnprintf(err->text + at, sizeof err->text - at, fmt, ap);
    for (char *c = err->text; *c;) {
        size_t n = shown((const unsigned char *)c);
        if (!n) *c = '?';
        c += n ? n : 1;
    }
}

sw_status sw_fail(sw_error *err, sw_status status, const char *fmt, ...) {
    if (!err) return status;
    va_list ap;
    va_start(ap, fmt);
    err->status = status;
    put(err, 0, fmt, ap);
    va_end(ap);
    return status;
}

sw_status sw_fail_at(sw_error *err, sw_status status, sw_mark mark, const char *key,
                     const char *fmt, ...) {
    if (!err) return status;
    char head[400] = "";
    size_t n = 0;
    if (mark.file) n += (size_t)snprintf(head + n, sizeof head - n, "%.300s:", mark.file);
    if (mark.file && mark.line > 0)
        n += (size_t)snprintf(head + n, sizeof head - n, "%d:", mark.line);
    if (mark.file && mark.line > 0 && mark.col > 0)
        n += (size_t)snprintf(head + n, sizeof head - n, "%d:", mark.col);
    if (mark.file) n += (size_t)snprintf(head + n, sizeof head - n, " ");
    if (key && n < sizeof head - 1) snprintf(head + n, sizeof head - n, "%.60s: ", key);
    err->status = status;
    size_t at = strlen(head);
    memcpy(err->text, head, at + 1);
    va_list ap;
    va_start(ap, fmt);
    put(err, at, fmt, ap);
    va_end(ap);
    return status;
}

int sw_exit_code(sw_status status) {
    static const int codes[] = {
#define X(name, code, text) [SW_##name] = code,
        SW_STATUS_LIST(X)
#undef X
    };
    return (size_t)status < sizeof codes / sizeof *codes ? codes[status] : 1;
}

const char *sw_status_text(sw_status status) {
    static const char *const texts[] = {
#define X(name, code, text) [SW_##name] = text,
        SW_STATUS_LIST(X)
#undef X
    };
    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

/* Edit distance with transpositions (optimal string alignment), case folded; words over 40 bytes
 * are far from all. */
static int distance(const char *a, const char *b) {
    enum { MAX = 40 };
    int n = (int)strlen(a), m = (int)strlen(b), d[3][MAX + 1];
    if (n > MAX || m > MAX) return MAX;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            char x = (char)tolower((unsigned char)a[i - 1]),
                 y = (char)tolower((unsigned char)b[j - 1]);
            int best = up[j - 1] + (x != y);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == (char)tolower((unsigned char)b[j - 2]) &&
                y == (char)tolower((unsigned char)a[i - 2]) && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return d[n % 3][m];
}

const char *sw_nearest(const char *word, const char *const *words, size_t n) {
    const char *best = NULL;
    size_t len = strlen(word);
    int least = len < 2 ? 0 : len < 9 ? (int)len / 3 + 1 : 4; /* one letter is no attempt */
    for (size_t i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        if (d >= (int)strlen(words[i])) continue; /* nothing in common */
        if (d < least || (d == least && !best)) least = d, best = words[i];
    }
    return best;
}
