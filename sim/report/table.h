/* Tables, bars and paragraphs for a terminal.
 *
 * style   how wide the terminal is, whether it shows block characters, whether it shows colour
 * cell    text with a tone; numbers stand right-aligned under their header
 * span    a sentence in place of the cells after the first one or more
 * The width of a text is its number of code points, two for East Asian wide ones, none for
 * combining marks: enough for names and units. */
#ifndef SW_REPORT_TABLE_H
#define SW_REPORT_TABLE_H

#include "sim/base/error.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct sw_style {
    bool blocks; /* UTF-8 block characters, rules and ellipses */
    bool colour;
    int width; /* columns; at least 40 */
} sw_style;

/** The style for `out`: block characters where the locale (LC_CTYPE, set by the program) is UTF-8
 * and neither `plain` nor NO_COLOR forbids it; colour on a terminal only; the width is the
 * terminal's, else $COLUMNS, else 100. */
sw_style sw_style_for(FILE *out, bool plain);

typedef enum sw_tone { SW_TONE_NONE, SW_TONE_BOLD, SW_TONE_DIM, SW_TONE_GOOD, SW_TONE_BAD } sw_tone;
typedef enum sw_align { SW_LEFT, SW_RIGHT } sw_align;

typedef struct sw_column {
    const char *title, *unit; /* unit: second header line; NULL: none */
    sw_align align;
    bool shrink; /* may be cut when the table is wider than the terminal */
} sw_column;

typedef struct sw_table sw_table;

/** A table of n columns (at most 16), which are borrowed. NULL when memory is out; every other call
 * takes NULL and does nothing. `indent` blanks stand before each line. */
sw_table *sw_table_new(const sw_column *columns, int n, int indent);
/** Ends the row at hand (missing cells stay empty) and begins one. */
void sw_table_row(sw_table *t);
/** The next cell of the row; printf. Longer texts than 400 bytes are cut. */
void sw_table_cell(sw_table *t, sw_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** A sentence over the remaining columns of the row, wrapped. */
void sw_table_span(sw_table *t, sw_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/** A thin rule before the next row (a total). */
void sw_table_rule(sw_table *t);
/** Prints and frees. Without titles no header is printed. SW_MEMORY when a row was lost. */
sw_status sw_table_print(sw_table *t, const sw_style *style, FILE *out, sw_error *err);

/** Columns that a text takes. */
int sw_text_width(const char *text);
/** A bar of `fraction` (0 to 1, cut) of `width` columns into buf (4 bytes a column are enough, plus
 * one). Returns buf. */
char *sw_bar(char *buf, size_t n, const sw_style *style, double fraction, int width);
/** Words broken to the width; the first line starts after `indent` blanks, the others after `hang`.
 */
void sw_paragraph(const sw_style *style, FILE *out, int indent, int hang, sw_tone tone,
                  const char *text);
/** A section's headline, with an empty line before it. */
void sw_heading(const sw_style *style, FILE *out, const char *text);

/** Rounds n parts to whole thousandths that sum to exactly 1000 (largest remainder), so that
 * percentages with one decimal add up to 100.0. All zero when the parts are. n <= 64. */
void sw_permille(const double *parts, int n, int *out);

#endif
