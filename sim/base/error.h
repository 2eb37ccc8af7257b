/* Errors: one status, one line of text, one exit code.
 *
 * Every function that can fail returns sw_status and takes `sw_error *err` last (may be NULL).
 * `err` is written on failure only; on failure nothing else that the caller can see has changed.
 * The line reads like a compiler's: `file:line:col: key: message`. */
#ifndef SW_BASE_ERROR_H
#define SW_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* name, exit code of the program, sentence */
#define SW_STATUS_LIST(X)                                                                          \
    X(OK, 0, "ok")                                                                                 \
    X(END, 0, "end of stream")                                                                     \
    X(RUN, 1, "the run failed")                                                                    \
    X(MEMORY, 1, "out of host memory")                                                             \
    X(IO, 1, "input or output failed")                                                             \
    X(INPUT, 2, "bad input")                                                                       \
    X(TOLERANCE, 3, "outside tolerance")                                                           \
    X(FIT, 4, "does not fit")                                                                      \
    X(SPACE, 4, "no hole is large enough")

typedef enum sw_status {
#define X(name, code, text) SW_##name,
    SW_STATUS_LIST(X)
#undef X
} sw_status;

typedef struct sw_error {
    sw_status status;
    char text[768];
} sw_error;

/** A place in an input. line and col count from 1; 0 means unknown. `file` is borrowed. */
typedef struct sw_mark {
    const char *file;
    int line, col;
} sw_mark;

/** Sets err (if not NULL) and returns `status`. */
sw_status sw_fail(sw_error *err, sw_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** As sw_fail, with "file:line:col: key: " in front; the unknown parts are left out.
 *  key may be NULL. */
sw_status sw_fail_at(sw_error *err, sw_status status, sw_mark mark, const char *key,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** The program's exit code for a status (see SW_STATUS_LIST). */
int sw_exit_code(sw_status status);

/** The status's sentence; static storage. */
const char *sw_status_text(sw_status status);

/** The nearest of `n` words to `word` if it is near enough to be a typing error, else NULL. */
const char *sw_nearest(const char *word, const char *const *words, size_t n);

/** Forward a failure. */
#define SW_TRY(expr)                                                                               \
    do {                                                                                           \
        sw_status try_status_ = (expr);                                                            \
        if (try_status_ != SW_OK) return try_status_;                                              \
    } while (0)

#endif
