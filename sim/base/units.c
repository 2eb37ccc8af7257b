/* Quantities with units (see units.h). Bytes are parsed in integers: digits, then the fraction
 * times the unit exactly. */
#include "sim/base/units.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct unit {
    const char *name;
    double factor;
} unit;

static const unit byte_units[] = {{"B", 1},        {"kB", 1e3},     {"MB", 1e6},
                                  {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},
                                  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                  {"TiB", 0x1p40}, {"PiB", 0x1p50}, {NULL, 0}};
static const unit rate_units[] = {{"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},
                                  {"GB/s", 1e9},     {"TB/s", 1e12},    {"KiB/s", 0x1p10},
                                  {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40},
                                  {"PB/s", 1e15},    {NULL, 0}};
static const unit time_units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                  {"min", 60}, {"h", 3600},  {NULL, 0}};
static const unit flop_units[] = {{"FLOP/s", 1},     {"kFLOP/s", 1e3}, {"EFLOP/s", 1e18},
                                  {"MFLOP/s", 1e6},  {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12},
                                  {"PFLOP/s", 1e15}, {"GOP/s", 1e9},   {"TOP/s", 1e12},
                                  {"POP/s", 1e15},   {NULL, 0}};
static const unit iops_units[] = {{"IOPS", 1}, {"kIOPS", 1e3}, {"MIOPS", 1e6}, {NULL, 0}};
static const unit watt_units[] = {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}, {NULL, 0}};
static const unit usd_units[] = {{"USD", 1}, {NULL, 0}};
static const unit no_units[] = {{NULL, 0}};

static const struct {
    const unit *units;
    const char *example;
} dims[] = {
    [SW_DIM_NONE] = {no_units, "a number without a unit"},
    [SW_DIM_BYTES] = {byte_units, "bytes, such as \"24 GiB\" or \"512 MB\""},
    [SW_DIM_RATE] = {rate_units, "bytes per second, such as \"25 GB/s\""},
    [SW_DIM_SECONDS] = {time_units, "a time, such as \"80 us\" or \"1.5 ms\""},
    [SW_DIM_FLOPS] = {flop_units, "operations per second, such as \"82.6 TFLOP/s\""},
    [SW_DIM_IOPS] = {iops_units, "I/O operations per second, such as \"700 kIOPS\""},
    [SW_DIM_WATTS] = {watt_units, "a power, such as \"450 W\""},
    [SW_DIM_USD] = {usd_units, "a price, such as \"1599 USD\""},
};

/* The decimal number at the start of text: its end, or NULL. Plain decimals only: no hex, inf, nan.
 */
static const char *number_end(const char *s) {
    const char *p = s;
    bool digits = false;
    if (*p == '-' || *p == '+') p++;
    for (; *p >= '0' && *p <= '9'; p++) digits = true;
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++) digits = true;
    if (!digits) return NULL;
    if ((*p == 'e' || *p == 'E') && (p[1] >= '0' && p[1] <= '9')) {
        for (p++; *p >= '0' && *p <= '9'; p++) {
        }
    } else if ((*p == 'e' || *p == 'E') && (p[1] == '-' || p[1] == '+') && p[2] >= '0' &&
               p[2] <= '9') {
        for (p += 2; *p >= '0' && *p <= '9'; p++) {
        }
    }
    return p;
}

static const unit *find_unit(sw_dim dim, const char *name) {
    for (const unit *u = dims[dim].units; u->name; u++)
        if (!strcmp(u->name, name)) return u;
    return NULL;
}

/* "b", "Gb/s", "Mib", "Gbit", "kbps": a b alone or behind a prefix in the right case. */
static bool is_bits(const char *name) {
    if (strstr(name, "bit") || strstr(name, "bps")) return true;
    const char *b = name + (*name && strchr("kKMGTP", *name) ? 1 + (name[1] == 'i') : 0);
    return *b == 'b' && (!b[1] || b[1] == '/');
}

/* The unit is none of the dimension's: says which it could be. */
static sw_status unknown_unit(const char *text, const char *name, sw_dim dim, sw_error *err) {
    char list[256] = "";
    size_t n = 0;
    bool bits = is_bits(name);
    for (const unit *u = dims[dim].units; u->name; u++) {
        if (!bits && !strcasecmp(u->name, name))
            return sw_fail(err, SW_INPUT, "\"%.60s\": unknown unit \"%.20s\"; did you mean \"%s\"?",
                           text, name, u->name);
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", u->name);
    }
    return sw_fail(err, SW_INPUT, "\"%.60s\": unknown unit \"%.20s\"%s; expected %s (%s)", text,
                   name, bits ? " (bits are not taken)" : "", dims[dim].example, list);
}

/* Splits text into number and unit; fails with what is due. */
static sw_status split(const char *text, sw_dim dim, const char **end, const unit **u,
                       sw_error *err) {
    const char *e = number_end(text);
    if (!e)
        return sw_fail(err, SW_INPUT, "\"%.60s\" is no number; expected %s", text,
                       dims[dim].example);
    const char *name = e;
    while (*name == ' ') name++;
    *end = e;
    *u = NULL;
    if (dim == SW_DIM_NONE) {
        if (*name)
            return sw_fail(err, SW_INPUT, "\"%.60s\": expected a number without a unit", text);
        return SW_OK;
    }
    if (!*name)
        return sw_fail(err, SW_INPUT, "\"%.60s\" has no unit; expected %s", text,
                       dims[dim].example);
    *u = find_unit(dim, name);
    if (*u) return SW_OK;
    return unknown_unit(text, name, dim, err);
}

sw_status sw_quantity_parse(const char *text, sw_dim dim, double *out, sw_error *err) {
    if (dim == SW_DIM_BYTES) {
        uint64_t b;
        SW_TRY(sw_bytes_parse(text, &b, err));
        *out = (double)b;
        return SW_OK;
    }
    const char *end;
    const unit *u;
    SW_TRY(split(text, dim, &end, &u, err));
    double x = strtod(text, NULL);
    if (u) x *= u->factor;
    if (!isfinite(x)) return sw_fail(err, SW_INPUT, "\"%.60s\" is too large", text);
    *out = x;
    return SW_OK;
}

sw_status sw_bytes_parse(const char *text, uint64_t *out, sw_error *err) {
    const char *end;
    const unit *u;
    SW_TRY(split(text, SW_DIM_BYTES, &end, &u, err));
    if (*text == '-') return sw_fail(err, SW_INPUT, "\"%.60s\" is negative", text);
    /* whole + fraction, each times the unit, in 128 bits; at most 18 fraction digits, no exponent
     */
    unsigned __int128 scale = (unsigned __int128)u->factor, whole = 0, frac = 0, den = 1;
    const char *p = text + (*text == '+');
    for (; *p >= '0' && *p <= '9'; p++) {
        whole = whole * 10 + (unsigned)(*p - '0');
        if (whole > (unsigned __int128)INT64_MAX)
            return sw_fail(err, SW_INPUT, "\"%.60s\" is too large", text);
    }
    if (*p == '.')
        for (p++; *p >= '0' && *p <= '9'; p++) {
            if (den > 100000000000000000ull)
                return sw_fail(err, SW_INPUT, "\"%.60s\" has too many decimals", text);
            frac = frac * 10 + (unsigned)(*p - '0');
            den *= 10;
        }
    if (p != end) return sw_fail(err, SW_INPUT, "\"%.60s\": write bytes without an exponent", text);
    if (frac * scale % den)
        return sw_fail(err, SW_INPUT, "\"%.60s\" is not a whole number of bytes", text);
    unsigned __int128 total = whole * scale + frac * scale / den;
    if (total > (unsigned __int128)INT64_MAX)
        return sw_fail(err, SW_INPUT, "\"%.60s\" is too large", text);
    *out = (uint64_t)total;
    return SW_OK;
}

/* --- for people ------------------------------------------------------------------------------- */

static char *format(char *buf, size_t n, double x, double base, const char *const *names,
                    int n_names) {
    int i = 0;
    while (i + 1 < n_names && fabs(x) >= base * 0.9995) x /= base, i++;
    const char *fmt = fabs(x) >= 99.95 || x == floor(x) ? "%.0f %s"
                      : fabs(x) >= 9.995                ? "%.1f %s"
                                                        : "%.2f %s";
    if (i == 0 && x != floor(x) && fabs(x) < 99.95) fmt = "%.3g %s";
    snprintf(buf, n, fmt, x, names[i]);
    return buf;
}

char *sw_format_bytes(char *buf, size_t n, double bytes) {
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    return format(buf, n, bytes, 1024, names, 6);
}

char *sw_format_rate(char *buf, size_t n, double rate) {
    static const char *const names[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    return format(buf, n, rate, 1000, names, 6);
}

char *sw_format_flops(char *buf, size_t n, double flops) {
    static const char *const names[] = {"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", "EFLOP/s"};
    return format(buf, n, flops, 1000, names, 7);
}

char *sw_format_count(char *buf, size_t n, double count) {
    static const char *const names[] = {"", "k", "M", "G", "T", "P"};
    format(buf, n, count, 1000, names, 6);
    size_t len = strlen(buf);
    if (len && buf[len - 1] == ' ') buf[len - 1] = 0;
    return buf;
}

char *sw_format_seconds(char *buf, size_t n, double s) {
    static const struct {
        double from, factor;
        const char *name;
    } steps[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (fabs(s) < steps[i].from * 0.9995) continue;
        double x = s * steps[i].factor;
        const char *fmt = s == 0             ? "%.0f s"
                          : fabs(x) >= 99.95 ? "%.0f %s"
                          : fabs(x) >= 9.995 ? "%.1f %s"
                                             : "%.2f %s";
        if (s == 0)
            snprintf(buf, n, "0 s");
        else
            snprintf(buf, n, fmt, x, steps[i].name);
        break;
    }
    return buf;
}
