/* Files in and out, plain or gzip (see stream.h). */
#include "sim/base/stream.h"
#include "sim/base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 256 << 10, MAX_LINE = 16 << 20 };

/* --- whole files ------------------------------------------------------------------------------ */

sw_status sw_file_load(const char *path, unsigned max_mib, char **text, size_t *bytes,
                       sw_error *err) {
    FILE *f = fopen(path, "rb");
    if (!f) return sw_fail(err, SW_INPUT, "%s: cannot open: %s", path, strerror(errno));
    SW_VEC(char) all = {0};
    size_t got = 1;
    sw_status st = SW_OK;
    while (!st && got) {
        if (!sw_vec_reserve(&all, all.n + 65536))
            st = sw_fail(err, SW_MEMORY, "out of memory");
        else if ((all.n += got = fread(all.v + all.n, 1, 65536, f)) > (size_t)max_mib << 20)
            st = sw_fail(err, SW_INPUT, "%s: over %u MiB", path, max_mib);
    }
    if (!st && ferror(f)) st = sw_fail(err, SW_INPUT, "%s: cannot read: %s", path, strerror(errno));
    fclose(f);
    if (st) {
        sw_vec_free(&all);
        return st;
    }
    *text = all.v;
    *bytes = all.n;
    return SW_OK;
}

/* --- in --------------------------------------------------------------------------------------- */

struct sw_reader {
    char *path;
    gzFile gz; /* reads plain files as they are */
    int fd;
    uint64_t file_bytes;
    char *buf;
    size_t at, end, cap;
    int line;
    bool eof;
};

sw_status sw_reader_open(const char *path, sw_reader **out, sw_error *err) {
    sw_reader *r = sw_zalloc(1, sizeof *r);
    if (!r) return sw_fail(err, SW_MEMORY, "out of memory");
    struct stat st;
    r->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(0);
    if (r->fd < 0 || fstat(r->fd, &st)) {
        sw_status s = sw_fail(err, SW_INPUT, "%s: cannot open: %s", path, strerror(errno));
        if (r->fd >= 0) close(r->fd);
        free(r);
        return s;
    }
    if (S_ISDIR(st.st_mode)) {
        close(r->fd);
        free(r);
        return sw_fail(err, SW_INPUT, "%s: is a folder", path);
    }
    r->file_bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    r->path = sw_strdup(path);
    r->cap = BUFFER;
    r->buf = malloc(r->cap + 1);
    r->gz = gzdopen(r->fd, "rb");
    if (!r->path || !r->buf || !r->gz) {
        if (!r->gz) close(r->fd);
        sw_reader_close(r);
        return sw_fail(err, SW_MEMORY, "out of memory");
    }
    gzbuffer(r->gz, BUFFER);
    *out = r;
    return SW_OK;
}

static sw_status broken(sw_reader *r, sw_error *err) {
    int code;
    const char *why = gzerror(r->gz, &code), *colon = strstr(why, ": "); /* behind its "<fd:3>: " */
    if (colon) why = colon + 2;
    if (code == Z_ERRNO) return sw_fail(err, SW_INPUT, "%s: cannot read: %s", r->path, why);
    return sw_fail(err, SW_INPUT, "%s: corrupt or truncated gzip near byte %lld: %s", r->path,
                   (long long)gzoffset(r->gz), code == Z_BUF_ERROR ? "unexpected end" : why);
}

static sw_status too_long(const sw_reader *r, int line, sw_error *err) {
    return sw_fail_at(err, SW_INPUT, (sw_mark){r->path, line, 0}, NULL, "a line over 16 MiB");
}

/* Reads more behind what is buffered; r->eof when nothing came. */
static sw_status fill(sw_reader *r, sw_error *err) {
    if (r->at) memmove(r->buf, r->buf + r->at, r->end - r->at), r->end -= r->at, r->at = 0;
    if (r->end > MAX_LINE + 1) return too_long(r, r->line + 1, err); /* 1: a '\r' before the '\n' */
    if (r->end == r->cap) {
        char *buf = realloc(r->buf, r->cap * 2 + 1);
        if (!buf) return sw_fail(err, SW_MEMORY, "out of memory");
        r->buf = buf;
        r->cap *= 2;
    }
    int got = gzread(r->gz, r->buf + r->end, (unsigned)(r->cap - r->end));
    if (got < 0) return broken(r, err);
    if (got == 0) {
        int code;
        gzerror(r->gz, &code);
        if (code != Z_OK && code != Z_STREAM_END) return broken(r, err);
        r->eof = true;
    }
    r->end += (size_t)got;
    return SW_OK;
}

sw_status sw_reader_line(sw_reader *r, char **line, size_t *bytes, sw_error *err) {
    size_t seen = 0;
    for (;;) {
        char *nl = memchr(r->buf + r->at + seen, '\n', r->end - r->at - seen);
        if (nl || (r->eof && r->end > r->at)) {
            char *start = r->buf + r->at;
            size_t n = nl ? (size_t)(nl - start) : r->end - r->at;
            r->at += n + (nl ? 1 : 0);
            if (r->at > r->end) r->at = r->end;
            if (n && start[n - 1] == '\r') n--;
            start[n] = 0;
            r->line++;
            if (n > MAX_LINE) return too_long(r, r->line, err);
            if (memchr(start, 0, n))
                return sw_fail_at(err, SW_INPUT, sw_reader_mark(r), NULL,
                                  "a NUL byte: this is no text");
            *line = start;
            *bytes = n;
            return SW_OK;
        }
        if (r->eof) return SW_END;
        seen = r->end - r->at;
        SW_TRY(fill(r, err));
    }
}

sw_status sw_reader_read(sw_reader *r, void *buf, size_t n, size_t *got, sw_error *err) {
    size_t k = 0;
    while (k < n) {
        if (r->at == r->end) {
            if (r->eof) break;
            SW_TRY(fill(r, err));
            continue;
        }
        size_t take = r->end - r->at < n - k ? r->end - r->at : n - k;
        memcpy((char *)buf + k, r->buf + r->at, take);
        r->at += take;
        k += take;
    }
    *got = k;
    return SW_OK;
}

sw_mark sw_reader_mark(const sw_reader *r) {
    return (sw_mark){r->path, r->line, 0};
}
uint64_t sw_reader_file_bytes(const sw_reader *r) {
    return r->file_bytes;
}

void sw_reader_close(sw_reader *r) {
    if (!r) return;
    if (r->gz) gzclose(r->gz);
    free(r->path);
    free(r->buf);
    free(r);
}

/* --- out -------------------------------------------------------------------------------------- */

struct sw_writer {
    char *path, *temp; /* temp NULL: written in place (standard output, a device) */
    FILE *file;
    gzFile gz;
    bool failed;
    int error;
};

static void free_writer(sw_writer *w) {
    free(w->path);
    free(w->temp);
    free(w);
}

/* A new file beside the target, PATH.XXXXXX.tmp; -1 and errno on failure. By hand, since mkstemp
 * would need the umask, which other threads see change when it is read. */
static int open_temp(sw_writer *w, mode_t mode) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t at = strlen(w->path);
    w->temp = malloc(at + 16);
    if (!w->temp) return -1;
    for (int tries = 0; tries < 100; tries++) {
        unsigned char r[6];
        if (getrandom(r, sizeof r, 0) != sizeof r) return -1;
        for (int i = 0; i < 6; i++) r[i] = (unsigned char)letters[r[i] % 36];
        snprintf(w->temp, at + 16, "%s.%.6s.tmp", w->path, (const char *)r);
        int fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* A descriptor to write to: standard output, a device or pipe as it is, or a temporary file beside
 * the target; -1 and errno on failure. */
static int open_target(sw_writer *w) {
    if (!strcmp(w->path, "-")) fflush(stdout); /* what was printed before comes before */
    if (!strcmp(w->path, "-")) return fcntl(1, F_DUPFD_CLOEXEC, 3);
    struct stat st = {0};
    bool there;
    if (!*w->path) return errno = ENOENT, -1;
    if ((there = !stat(w->path, &st))) {
        if (S_ISDIR(st.st_mode)) return errno = EISDIR, -1;
        if (!S_ISREG(st.st_mode)) return open(w->path, O_WRONLY | O_CLOEXEC);
        char *real = realpath(w->path, NULL); /* a link stays one */
        if (!real) return -1;
        free(w->path);
        w->path = real;
    }
    int fd = open_temp(w, 0644);
    if (fd >= 0 && there) (void)!fchmod(fd, st.st_mode & 0777); /* who could read it still can */
    return fd;
}

sw_status sw_writer_open(const char *path, sw_writer **out, sw_error *err) {
    sw_writer *w = sw_zalloc(1, sizeof *w);
    if (!w || !(w->path = sw_strdup(path))) {
        free(w);
        return sw_fail(err, SW_MEMORY, "out of memory");
    }
    size_t n = strlen(path);
    bool gz = n > 3 && !strcmp(path + n - 3, ".gz");
    int fd = open_target(w);
    if (fd >= 0 && gz)
        w->gz = gzdopen(fd, "wb6");
    else if (fd >= 0)
        w->file = fdopen(fd, "wb");
    if (!w->gz && !w->file) {
        sw_status st = sw_fail(err, SW_IO, "%s: cannot write: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        if (fd >= 0 && w->temp) unlink(w->temp);
        free_writer(w);
        return st;
    }
    if (w->file) setvbuf(w->file, NULL, _IOFBF, BUFFER);
    if (w->gz) gzbuffer(w->gz, BUFFER);
    *out = w;
    return SW_OK;
}

static void failed(sw_writer *w) {
    if (!w->failed) w->error = errno;
    w->failed = true;
}

void sw_writer_put(sw_writer *w, const void *data, size_t bytes) {
    for (const char *p = data; bytes && !w->failed;) {
        size_t n = bytes < (1u << 30) ? bytes : 1u << 30;
        if (w->gz ? gzwrite(w->gz, p, (unsigned)n) != (int)n : fwrite(p, 1, n, w->file) != n)
            failed(w);
        p += n;
        bytes -= n;
    }
}

void sw_writer_printf(sw_writer *w, const char *fmt, ...) {
    char small[512], *text = small;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n < 0) {
        failed(w);
        return;
    }
    if ((size_t)n >= sizeof small) {
        text = malloc((size_t)n + 1);
        if (!text) {
            failed(w);
            return;
        }
        va_start(ap, fmt);
        vsnprintf(text, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    sw_writer_put(w, text, (size_t)n);
    if (text != small) free(text);
}

static void close_files(sw_writer *w) {
    if (w->gz && gzclose(w->gz) != Z_OK) failed(w);
    if (w->file && fclose(w->file)) failed(w);
}

sw_status sw_writer_commit(sw_writer *w, sw_error *err) {
    close_files(w);
    if (!w->failed && w->temp && rename(w->temp, w->path)) failed(w);
    sw_status st = SW_OK;
    if (w->failed) {
        st = sw_fail(err, SW_IO, "%s: cannot write: %s", w->path, strerror(w->error));
        if (w->temp) unlink(w->temp);
    }
    free_writer(w);
    return st;
}

void sw_writer_abort(sw_writer *w) {
    if (!w) return;
    close_files(w);
    if (w->temp) unlink(w->temp);
    free_writer(w);
}
