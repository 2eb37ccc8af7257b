/* Are quantities read exactly, and everything that only looks like one refused? */
#include "sim/base/units.h"
#include "base.h"

static const uint64_t untouched = 77;

static void bytes(const char *text, uint64_t due) {
    uint64_t got = untouched;
    sw_error err = {0};
    bool ok = sw_bytes_parse(text, &got, &err) == SW_OK && got == due;
    CHECK(ok);
    if (!ok) printf("\n  \"%s\": %llu: %s\n", text, (unsigned long long)got, err.text);
}

static void no_bytes(const char *text, const char *why) {
    uint64_t got = untouched;
    sw_error err = {0};
    CHECK(sw_bytes_parse(text, &got, &err) == SW_INPUT);
    CHECK(got == untouched);
    check_text(&err, why);
}

static void exact_bytes(void) {
    bytes("0 B", 0);
    bytes("1 B", 1);
    bytes("+64 B", 64);
    bytes("24GiB", 24ull << 30);
    bytes("24   GiB", 24ull << 30);
    bytes("1.5 GiB", 3ull << 29);
    bytes("0.5 KiB", 512);
    bytes(".5 kB", 500);
    bytes("5. kB", 5000);
    bytes("0.001 kB", 1);
    bytes("0.0009765625 KiB", 1);
    bytes("1.000000000000001 PB", 1000000000000001);
    bytes("0.000000000000001000 PB", 1); /* 18 decimals */
}

static void byte_limits(void) {
    bytes("9223372036854775807 B", INT64_MAX);
    no_bytes("9223372036854775808 B", "too large");
    no_bytes("18446744073709551616 B", "too large");
    no_bytes("99999999999999999999999999999999999999999999999999999999 B", "too large");
    bytes("8191 PiB", 8191ull << 50);
    no_bytes("8192 PiB", "too large");
    bytes("8191.5 PiB", 16383ull << 49);
    bytes("9007199254740993 B", 9007199254740993); /* 2^53 + 1: no double on the way */
    bytes("9223.372036854775807 PB", INT64_MAX);
    no_bytes("9223.372036854775808 PB", "too large");
}

static void odd_bytes(void) {
    no_bytes("0.3 B", "whole number of bytes");
    no_bytes("1.0001 kB", "whole number of bytes");
    no_bytes("0.1 GiB", "whole number of bytes");
    bytes("0.1 GB", 100000000);
    no_bytes("0.0000000000000000001 GB", "too many decimals");
    no_bytes("1e3 B", "exponent");
    no_bytes("1E+3 B", "exponent");
    no_bytes("-1 B", "negative");
    no_bytes("-0 B", "negative");
    no_bytes("24", "no unit");
    no_bytes("", "is no number");
    no_bytes(" 24 B", "is no number");
    no_bytes("GiB", "is no number");
    no_bytes(". B", "is no number");
    no_bytes("+-1 B", "is no number");
    no_bytes("0x10 B", "unknown unit");
    no_bytes("inf B", "is no number");
    no_bytes("nan B", "is no number");
    no_bytes("1,5 GiB", "unknown unit");
    no_bytes("1_000 B", "unknown unit");
    no_bytes("24 GiB ", "unknown unit");
    no_bytes("24 GiB/s", "unknown unit");
}

/* Letters are case-sensitive, and bits are named when refused. */
static void wrong_units(void) {
    no_bytes("24 gb", "unknown unit \"gb\"; did you mean \"GB\"?");
    no_bytes("24 gib", "did you mean \"GiB\"?");
    no_bytes("24 KB", "unknown unit \"KB\"; did you mean \"kB\"?");
    no_bytes("24 GB/s", "(B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB)");
    static const char *const bits[] = {"24 Gb", "24 b", "24 kb", "24 Mib", "24 Gbit", "24 Gibit"};
    for (int i = 0; i < 6; i++) no_bytes(bits[i], "(bits are not taken); expected bytes");
    double x = 77;
    static const char *const rates[] = {"25 Gb/s",  "25 Gbit/s", "25 Gbps",
                                        "25 bit/s", "25 b/s",    "25 Gib/s"};
    for (int i = 0; i < 6; i++) {
        sw_error err = {0};
        CHECK(sw_quantity_parse(rates[i], SW_DIM_RATE, &x, &err) == SW_INPUT);
        check_text(&err, "bits are not taken");
        check_text(&err, "such as \"25 GB/s\"");
    }
    sw_error err = {0};
    CHECK(sw_quantity_parse("25 gB/s", SW_DIM_RATE, &x, &err) == SW_INPUT);
    CHECK(!strstr(err.text, "bits"));
    CHECK(sw_quantity_parse("25 GB", SW_DIM_RATE, &x, &err) == SW_INPUT);
    CHECK(sw_quantity_parse("2 S", SW_DIM_SECONDS, &x, &err) == SW_INPUT);
    CHECK(sw_quantity_parse("2 Ms", SW_DIM_SECONDS, &x, &err) == SW_INPUT);
    CHECK(x == 77);
}

static void quantity(const char *text, sw_dim dim, double due) {
    double got = -77;
    sw_error err = {0};
    CHECK(sw_quantity_parse(text, dim, &got, &err) == SW_OK);
    CHECK_REL(got, due, 1e-15);
}

static void dimensions(void) {
    quantity("0.8", SW_DIM_NONE, 0.8);
    quantity("-12", SW_DIM_NONE, -12);
    quantity("1.5e3", SW_DIM_NONE, 1500);
    quantity("1e-3", SW_DIM_NONE, 1e-3);
    quantity("24 GiB", SW_DIM_BYTES, 24 * 0x1p30);
    quantity("25 GB/s", SW_DIM_RATE, 25e9);
    quantity("1 TiB/s", SW_DIM_RATE, 0x1p40);
    quantity("80 us", SW_DIM_SECONDS, 80e-6);
    quantity("1.5 ms", SW_DIM_SECONDS, 1.5e-3);
    quantity("2 min", SW_DIM_SECONDS, 120);
    quantity("1 h", SW_DIM_SECONDS, 3600);
    quantity("82.6 TFLOP/s", SW_DIM_FLOPS, 82.6e12);
    quantity("660 TOP/s", SW_DIM_FLOPS, 660e12);
    quantity("700 kIOPS", SW_DIM_IOPS, 700e3);
    quantity("450 W", SW_DIM_WATTS, 450);
    quantity("1599 USD", SW_DIM_USD, 1599);
    quantity("1e308", SW_DIM_NONE, 1e308);
}

static void no_numbers(void) {
    static const char *const texts[] = {"nan",  "NaN",   ".nan",  "inf",    "-inf", "infinity",
                                        ".inf", "0x10",  "1e999", "-1e999", "1 GB", "1e",
                                        "e5",   "1.2.3", "--1",   "",       "one",  "1 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double x = 77;
        sw_error err = {0};
        CHECK(sw_quantity_parse(texts[i], SW_DIM_NONE, &x, &err) == SW_INPUT);
        CHECK(x == 77);
        check_text(&err, texts[i]);
    }
    double x = 77;
    sw_error err = {0};
    CHECK(sw_quantity_parse("1e300 TB/s", SW_DIM_RATE, &x, &err) == SW_INPUT);
    check_text(&err, "too large");
    CHECK(sw_quantity_parse("25", SW_DIM_RATE, &x, &err) == SW_INPUT);
    check_text(&err, "has no unit");
    CHECK(x == 77);
}

/* What is shown can be written: each unit of the formats is one of the parser's. */
static void shown_reads_back(void) {
    char buf[32];
    double x;
    for (double v = 1; v < 1e18; v *= 7) {
        CHECK(sw_quantity_parse(sw_format_rate(buf, 32, v), SW_DIM_RATE, &x, NULL) == SW_OK);
        CHECK_REL(x, v, 5.1e-3);
        CHECK(sw_quantity_parse(sw_format_flops(buf, 32, v), SW_DIM_FLOPS, &x, NULL) == SW_OK);
        CHECK_REL(x, v, 5.1e-3);
    }
}

static void shown(char *(*format)(char *, size_t, double), double x, const char *due) {
    char buf[32];
    CHECK_STR(format(buf, sizeof buf, x), due);
    if (strcmp(buf, due)) printf("\n  %.17g: %s, expected %s\n", x, buf, due);
}

static void for_people(void) {
    shown(sw_format_bytes, 0, "0 B");
    shown(sw_format_bytes, 1023, "1023 B");
    shown(sw_format_bytes, 1000.5, "1000 B");
    shown(sw_format_bytes, 1024, "1 KiB");
    shown(sw_format_bytes, 39.6 * 0x1p30, "39.6 GiB");
    shown(sw_format_bytes, 0x1p40 - 1, "1.00 TiB");
    shown(sw_format_bytes, -0x1p31, "-2 GiB");
    shown(sw_format_bytes, 0x1p70, "1048576 PiB");
    shown(sw_format_rate, 25.2e9, "25.2 GB/s");
    shown(sw_format_rate, 999.4, "999 B/s");
    shown(sw_format_rate, 999.6, "1.00 kB/s");
    shown(sw_format_rate, 0.125, "0.125 B/s");
    shown(sw_format_seconds, 0, "0 s");
    shown(sw_format_seconds, 1.25e-3, "1.25 ms");
    shown(sw_format_seconds, 0.99951, "1.00 s");
    shown(sw_format_seconds, 0.9994, "999 ms");
    shown(sw_format_seconds, 80e-6, "80.0 us");
    shown(sw_format_seconds, 3e-10, "0.30 ns");
    shown(sw_format_seconds, 12345, "12345 s");
    shown(sw_format_flops, 82.6e12, "82.6 TFLOP/s");
    shown(sw_format_count, 12.3e6, "12.3 M");
    shown(sw_format_count, 7, "7");
    char tiny[4];
    CHECK_STR(sw_format_bytes(tiny, sizeof tiny, 39.6 * 0x1p30), "39."); /* cut, terminated */
}

SW_TESTS("units", {"exact bytes", exact_bytes}, {"byte limits", byte_limits},
         {"odd bytes", odd_bytes}, {"wrong units", wrong_units}, {"dimensions", dimensions},
         {"no numbers", no_numbers}, {"shown reads back", shown_reads_back},
         {"for people", for_people})
