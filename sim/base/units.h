/* Quantities with units: "24 GiB", "25 GB/s", "80 us", "82.6 TFLOP/s".
 *
 * GB = 1e9 bytes, GiB = 2^30 bytes; letters are case-sensitive; bits are refused; a bare number
 * where a dimension is due is refused. Bytes are exact integers and never pass through double. */
#ifndef SW_BASE_UNITS_H
#define SW_BASE_UNITS_H

#include "sim/base/error.h"

typedef enum sw_dim {
    SW_DIM_NONE,    /* a pure number: "0.8", "12" */
    SW_DIM_BYTES,   /* "24 GiB", "512 MB", "64 B" (whole bytes only) */
    SW_DIM_RATE,    /* "25 GB/s" -> bytes per second */
    SW_DIM_SECONDS, /* "80 us", "1.5 ms", "2 s", "151 ns" */
    SW_DIM_FLOPS,   /* "82.6 TFLOP/s" (also "TOP/s") -> operations per second */
    SW_DIM_IOPS,    /* "700 kIOPS" -> operations per second */
    SW_DIM_WATTS,   /* "450 W" */
    SW_DIM_USD      /* "1599 USD" */
} sw_dim;

/** Parses `text` as a finite quantity of dimension `dim`.
 *  out   written on SW_OK only, in the base unit (bytes, bytes/s, s, op/s, W, USD).
 *  Fails SW_INPUT with a message without position, for the caller to place: names the unit that
 *        was found and those that are possible. NaN, infinity, hex floats are refused. */
sw_status sw_quantity_parse(const char *text, sw_dim dim, double *out, sw_error *err);

/** As above for whole bytes, exact up to 2^63-1. "1.5 GiB" is fine, "0.3 B" is not; negative is
 *  not. */
sw_status sw_bytes_parse(const char *text, uint64_t *out, sw_error *err);

/** Formats for people, three or four significant digits: "39.6 GiB", "25.2 GB/s", "1.25 ms",
 *  "82.6 TFLOP/s". Writes at most n bytes with the NUL; returns buf. */
char *sw_format_bytes(char *buf, size_t n, double bytes);      /* binary: KiB, MiB, GiB */
char *sw_format_rate(char *buf, size_t n, double bytes_per_s); /* decimal: GB/s */
char *sw_format_seconds(char *buf, size_t n, double s);
char *sw_format_flops(char *buf, size_t n, double flops);
char *sw_format_count(char *buf, size_t n, double count); /* "12.3 M" */

#endif
