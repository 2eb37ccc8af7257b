/* Lists of module names, globs and regular expressions (models/hf_filter.h).
 *
 * Both kinds of pattern compile to one form: characters, ANY (one character) and STAR (any number).
 * A group (a|b) becomes one pattern for each alternative. Such a pattern is matched without
 * recursion, going back to the last STAR only; the steps after its literal head are counted and
 * limited in all, since patterns and names both come from untrusted files. */
#include "models/hf_filter.h"
#include "sim/base/vec.h"

enum { MAX_ENTRIES = 100000, MAX_PATTERNS = 1000, MAX_TEXT = 512, ANY = 1, STAR = 2 };
static const uint64_t max_steps = (uint64_t)1 << 27;

typedef struct entry {
    const char *text;
    hf_scheme scheme;
    size_t order;
} entry;

typedef struct pattern {
    char *code;  /* owned */
    size_t head; /* characters before the first ANY or STAR */
    hf_scheme scheme;
} pattern;

struct hf_filter {
    SW_VEC(entry) words;      /* literals, sorted */
    SW_VEC(pattern) patterns; /* in order */
    uint64_t steps;
};

hf_filter *sw_hf_filter_new(void) {
    return sw_zalloc(1, sizeof(hf_filter));
}

void sw_hf_filter_free(hf_filter *f) {
    if (!f) return;
    for (size_t i = 0; i < f->patterns.n; i++) free(f->patterns.v[i].code);
    sw_vec_free(&f->words);
    sw_vec_free(&f->patterns);
    free(f);
}

/* Appends a glob, or a regular expression without groups, to code; false if it is not in the
 * language. */
static bool compile(const char *p, size_t n, bool regex, char *code, size_t *len) {
    for (size_t i = 0; i < n; i++) {
        char c = p[i], out = c;
        if (c == ANY || c == STAR || *len + 2 >= MAX_TEXT) return false;
        if (!regex) {
            if (c == '*') out = STAR;
        } else if (c == '\\') {
            if (++i >= n || !strchr("._-", p[i])) return false;
            out = p[i];
        } else if (c == '.') {
            bool star = i + 1 < n && p[i + 1] == '*';
            out = star ? STAR : ANY, i += star;
        } else if (strchr("*+?()[]{}|^$", c)) {
            return false;
        }
        if (out == STAR && *len && code[*len - 1] == STAR) continue;
        code[(*len)++] = out;
    }
    code[*len] = 0;
    return true;
}

static sw_status add_pattern(hf_filter *f, const char *code, hf_scheme scheme, sw_error *err) {
    pattern p = {sw_strdup(code), strcspn(code, "\1\2"), scheme};
    if (f->patterns.n >= MAX_PATTERNS) {
        free(p.code);
        return sw_fail(err, SW_INPUT, "more than %d patterns", MAX_PATTERNS);
    }
    if (!p.code || !sw_vec_push(&f->patterns, p)) {
        free(p.code);
        return sw_fail(err, SW_MEMORY, "no memory for a list of modules");
    }
    return SW_OK;
}

/* A regular expression with at most one group: one pattern for each of its alternatives. re.match
 * needs to reach the end of the name only where the expression says '$'. */
static sw_status add_regex(hf_filter *f, const char *re, hf_scheme scheme, sw_error *err) {
    char code[MAX_TEXT + 4];
    if (*re == '^') re++;
    size_t n = strlen(re);
    bool end = n && re[n - 1] == '$';
    if (end) n--;
    const char *open = memchr(re, '(', n),
               *close = open ? memchr(open, ')', n - (size_t)(open - re)) : NULL;
    if (open && !close) goto bad;
    for (const char *a = open ? open + 1 : re;;) {
        const char *stop = close;
        size_t len = 0;
        if (open) {
            const char *bar = memchr(a, '|', (size_t)(close - a));
            if (bar) stop = bar;
            if (!compile(re, (size_t)(open - re), true, code, &len) ||
                !compile(a, (size_t)(stop - a), true, code, &len) ||
                !compile(close + 1, n - (size_t)(close + 1 - re), true, code, &len))
                goto bad;
        } else if (!compile(re, n, true, code, &len)) {
            goto bad;
        }
        if (!end && (len == 0 || code[len - 1] != STAR)) code[len++] = STAR, code[len] = 0;
        SW_TRY(add_pattern(f, code, scheme, err));
        if (!open || stop == close) return SW_OK;
        a = stop + 1;
    }
bad:
    return sw_fail(err, SW_INPUT, "pattern `re:%.80s` is not understood", re);
}

sw_status sw_hf_filter_add(hf_filter *f, const char *text, hf_scheme scheme, sw_error *err) {
    char code[MAX_TEXT + 4];
    size_t len = 0;
    entry e = {text, scheme, f->words.n};
    if (strlen(text) >= MAX_TEXT)
        return sw_fail(err, SW_INPUT, "pattern `%.80s` is too long", text);
    if (strncmp(text, "re:", 3) == 0) return add_regex(f, text + 3, scheme, err);
    if (strchr(text, '*')) {
        if (!compile(text, strlen(text), false, code, &len))
            return sw_fail(err, SW_INPUT, "pattern `%.80s` is not understood", text);
        return add_pattern(f, code, scheme, err);
    }
    if (f->words.n >= MAX_ENTRIES) return sw_fail(err, SW_INPUT, "more than %d names", MAX_ENTRIES);
    if (!sw_vec_push(&f->words, e))
        return sw_fail(err, SW_MEMORY, "no memory for a list of modules");
    return SW_OK;
}

static int by_text(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int c = strcmp(x->text, y->text);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

void sw_hf_filter_ready(hf_filter *f) {
    if (f->words.n) qsort(f->words.v, f->words.n, sizeof *f->words.v, by_text);
}

static bool match(hf_filter *f, const pattern *x, const char *s) {
    if (strncmp(x->code, s, x->head) != 0) return false;
    const char *p = x->code + x->head, *star = NULL, *from = NULL;
    for (s += x->head; *s || *p;) {
        if (++f->steps > max_steps) return false;
        if (*p == STAR) {
            star = ++p, from = s;
            if (*p == 0) return true;
        } else if (*s && (*p == ANY || *p == *s)) {
            p++, s++;
        } else if (star && *from) {
            p = star, s = ++from;
        } else {
            return false;
        }
    }
    return true;
}

static const entry *find_word(const hf_filter *f, const char *text) {
    size_t lo = 0, hi = f->words.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(f->words.v[mid].text, text) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->words.n && strcmp(f->words.v[lo].text, text) == 0 ? &f->words.v[lo] : NULL;
}

sw_status sw_hf_filter(hf_filter *f, const char *module, hf_scheme *scheme, sw_error *err) {
    char path[SW_MAX_NAME];
    if (snprintf(path, sizeof path, "%s", module) >= SW_MAX_NAME) return SW_OK;
    const entry *hit = find_word(f, path);
    for (char *dot; !hit && (dot = strrchr(path, '.'));) { /* what it lies in */
        hit = find_word(f, dot + 1);                       /* a bare word */
        *dot = 0;
        if (!hit) hit = find_word(f, path);
    }
    for (size_t i = 0; !hit && i < f->patterns.n; i++) {
        if (!match(f, &f->patterns.v[i], module)) continue;
        *scheme = f->patterns.v[i].scheme;
        return SW_OK;
    }
    if (f->steps > max_steps) return sw_fail(err, SW_INPUT, "patterns take too long to match");
    if (hit) *scheme = hit->scheme;
    return SW_OK;
}
