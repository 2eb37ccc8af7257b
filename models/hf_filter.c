/* Lists of module names, globs and regular expressions (models/hf_filter.h). Matching backtracks,
 * so its total cost is counted and limited: the patterns come from untrusted files. */
#include "models/hf_filter.h"
#include "sim/base/vec.h"

enum { MAX_ENTRIES = 100000, MAX_PATTERNS = 1000, MAX_TEXT = 512 };
static const uint64_t max_steps = (uint64_t)1 << 31;

typedef struct entry {
    const char *text;
    hf_scheme scheme;
    size_t order;
} entry;

struct hf_filter {
    SW_VEC(entry) words;    /* literals, sorted */
    SW_VEC(entry) patterns; /* globs and expressions, in order */
    uint64_t steps;
};

hf_filter *sw_hf_filter_new(void) {
    return sw_zalloc(1, sizeof(hf_filter));
}

void sw_hf_filter_free(hf_filter *f) {
    if (!f) return;
    sw_vec_free(&f->words);
    sw_vec_free(&f->patterns);
    free(f);
}

static bool is_regex(const char *text) {
    return strncmp(text, "re:", 3) == 0;
}

/* Only the language of the header, so that a wrong reading is impossible. */
static bool speaks(const char *re) {
    int depth = 0;
    for (; *re; re++) {
        if (*re == '\\') {
            if (re[1] != '.' && re[1] != '_' && re[1] != '-') return false;
            re++;
        } else if (*re == '(') {
            if (re[1] == '?' || ++depth > 1) return false;
        } else if (*re == ')') {
            if (--depth < 0 || re[1] == '*') return false;
        } else if (strchr("[]{}+?", *re) || (*re == '|' && depth == 0)) {
            return false;
        }
    }
    return depth == 0;
}

sw_status sw_hf_filter_add(hf_filter *f, const char *text, hf_scheme scheme, sw_error *err) {
    bool pattern = is_regex(text) || strchr(text, '*');
    entry e = {text, scheme, f->words.n};
    if (strlen(text) > MAX_TEXT || (is_regex(text) && !speaks(text + 3)))
        return sw_fail(err, SW_INPUT, "pattern `%.80s` is not understood", text);
    if (f->words.n >= MAX_ENTRIES || f->patterns.n >= MAX_PATTERNS)
        return sw_fail(err, SW_INPUT, "too many names or patterns");
    if (pattern ? !sw_vec_push(&f->patterns, e) : !sw_vec_push(&f->words, e))
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

/* Matches pattern p (glob or regex) against all of s; a regex need not reach the end of s, as
 * re.match. */
static bool match(hf_filter *f, const char *p, const char *s, bool regex, int depth);

/* The end of the alternative that starts at p, and the closing parenthesis of its group. */
static const char *group_end(const char *p) {
    while (*p && *p != ')') p += *p == '\\' && p[1] ? 2 : 1;
    return p;
}

static bool match_group(hf_filter *f, const char *p, const char *s, int depth) {
    const char *close = group_end(p);
    for (const char *a = p; a <= close;) {
        const char *e = a;
        while (e < close && *e != '|') e += *e == '\\' ? 2 : 1;
        char joined[2 * MAX_TEXT + 2];
        size_t n = (size_t)(e - a), rest = strlen(close + (*close == ')'));
        if (n + rest > sizeof joined - 1) return false;
        memcpy(joined, a, n);
        memcpy(joined + n, close + (*close == ')'), rest + 1);
        if (match(f, joined, s, true, depth + 1)) return true;
        a = e + 1;
    }
    return false;
}

static bool match(hf_filter *f, const char *p, const char *s, bool regex, int depth) {
    if (depth > 64) return false;
    for (;;) {
        if (++f->steps > max_steps) return false;
        if (*p == 0) return regex || *s == 0;
        if (regex && *p == '(') return match_group(f, p + 1, s, depth);
        if (regex && *p == '$' && p[1] == 0) return *s == 0;
        if (regex && *p == '^') {
            p++;
            continue;
        }
        bool escaped = regex && *p == '\\';
        const char *c = escaped ? p + 1 : p;
        const char *next = c + 1;
        bool star = regex ? *next == '*' : *c == '*';
        bool any = regex ? (*c == '.' && !escaped) : *c == '*';
        if (star) {
            if (regex) next++;
            for (;; s++) {
                if (match(f, next, s, regex, depth + 1)) return true;
                if (*s == 0 || !(any || *s == *c) || f->steps > max_steps) return false;
            }
        }
        if (*s == 0 || !(any || *s == *c)) return false;
        s++, p = next;
    }
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
        const char *p = f->patterns.v[i].text;
        bool regex = is_regex(p);
        if (match(f, regex ? p + 3 : p, module, regex, 0)) hit = &f->patterns.v[i];
    }
    if (f->steps > max_steps) return sw_fail(err, SW_INPUT, "patterns take too long to match");
    if (hit) *scheme = hit->scheme;
    return SW_OK;
}
