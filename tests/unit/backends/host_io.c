/* Question: does every byte of the file come and go as it was asked for, whichever engine moves it,
 * however it is cut, and whatever fails? Against a copy of the file in memory. */
#include "backends/host_io.h"
#include "check.h"
#include "sim/base/rng.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1024 * 1024, SECTOR = SW_HOST_SECTOR };

static atomic_bool stop;

static const sw_host_engine engines[] = {SW_HOST_THREADS, SW_HOST_URING};

static void open_file(sw_host_file *f, bool direct, uint64_t bytes) {
    sw_error err = {0};
    CU_ASSERT_TRUE_FATAL(sw_host_file_open(f, "", direct, &err) == SW_OK);
    CU_ASSERT_TRUE_FATAL(sw_host_file_reach(f, bytes, &err) == SW_OK);
}

/* False, and says so: not on this machine. */
static bool open_mover(sw_host_mover *m, sw_host_engine engine, uint64_t block, uint32_t depth) {
    sw_host_how how = {engine, block, depth, &stop};
    sw_error err = {0};
    atomic_store(&stop, false);
    if (sw_host_mover_open(m, &how, &err) == SW_OK) return true;
    CHECK(engine == SW_HOST_URING && strstr(err.text, "io_uring"));
    printf("(%s) ", err.text);
    return false;
}

static char *memory(uint64_t bytes) {
    void *p = NULL;
    CU_ASSERT_TRUE_FATAL(posix_memalign(&p, SECTOR, bytes) == 0);
    memset(p, 0, bytes);
    return p;
}

/* --- what is right ------------------------------------------------------------------------------ */

/* Extents at will, many of them aligned in the file, in memory, in both or in neither. */
static uint64_t somewhere(sw_rng *g, uint64_t n) {
    uint64_t at = sw_rng_below(g, n);
    return sw_rng_below(g, 2) ? at : at / SECTOR * SECTOR;
}

static void as_in_memory(sw_host_file *f, sw_host_mover *m, uint64_t size, int rounds) {
    char *truth = memory(size), *mem = memory(size + SECTOR);
    sw_rng g = sw_rng_seed(m->how.depth + m->how.block);
    sw_error err = {0};
    bool good = true;
    for (int i = 0; i < rounds && good; i++) {
        uint64_t at = somewhere(&g, size), off = somewhere(&g, SECTOR);
        uint64_t n = 1 + somewhere(&g, sw_rng_below(&g, 3) ? size - at : 3 * SECTOR);
        if (n > size - at) n = size - at;
        if (i % 2) {
            memset(mem, 0xee, size + SECTOR);
            good = sw_host_file_read(f, m, at, mem + off, n, &err) == SW_OK &&
                   !memcmp(mem + off, truth + at, n);
            for (uint64_t k = 0; k < size + SECTOR; k++) /* and nothing beside it */
                good &= (k >= off && k < off + n) || mem[k] == (char)0xee;
        } else {
            for (uint64_t k = 0; k < n; k++) mem[off + k] = (char)(i + 7 * k + k / 256);
            memcpy(truth + at, mem + off, n);
            good = sw_host_file_write(f, m, at, mem + off, n, &err) == SW_OK;
        }
        if (!good)
            printf(
                "\n  engine %d, block %llu, depth %u, round %d: %llu bytes at %llu, memory +%llu "
                "%s\n",
                (int)m->how.engine, (unsigned long long)m->how.block, m->how.depth, i,
                (unsigned long long)n, (unsigned long long)at, (unsigned long long)off, err.text);
    }
    CHECK(good && sw_host_file_read(f, m, 0, mem, size, &err) == SW_OK);
    CHECK(!memcmp(mem, truth, size));
    free(truth);
    free(mem);
}

static void integrity(void) {
    static const struct {
        uint64_t block;
        uint32_t depth;
    } cuts[] = {{SECTOR, 1},    {SECTOR, 32}, {3 * SECTOR, 5},
                {64 * KIB, 32}, {MIB, 1},     {4 * MIB, 32}};
    for (size_t e = 0; e < 2; e++)
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
            for (int direct = 0; direct < 2; direct++) {
                sw_host_mover m;
                sw_host_file f;
                if (!open_mover(&m, engines[e], cuts[c].block, cuts[c].depth)) return;
                open_file(&f, direct, 300 * KIB);
                as_in_memory(&f, &m, 300 * KIB - 77, 60);
                CHECK(m.n_requests > 60 && (m.n_bounced > 0) == f.direct && m.cpu_s > 0);
                sw_host_file_close(&f);
                sw_host_mover_close(&m);
            }
}

/* Requests are as many as `block` says. */
static void cutting(void) {
    for (size_t e = 0; e < 2; e++) {
        sw_host_mover m;
        sw_host_file f;
        sw_error err = {0};
        if (!open_mover(&m, engines[e], 64 * KIB, 8)) return;
        open_file(&f, true, MIB);
        char *mem = memory(MIB);
        CHECK(sw_host_file_write(&f, &m, 0, mem, MIB, &err) == SW_OK && m.n_requests == 16);
        CHECK(sw_host_file_read(&f, &m, 0, mem, 64 * KIB, &err) == SW_OK && m.n_requests == 17);
        CHECK(sw_host_file_read(&f, &m, 0, mem, 64 * KIB + 1, &err) == SW_OK);
        CHECK(m.n_requests == 19 && m.n_bounced == f.direct);
        CHECK(sw_host_file_read(&f, &m, 0, mem, 0, &err) == SW_OK && m.n_requests == 19);
        free(mem);
        sw_host_file_close(&f);
        sw_host_mover_close(&m);
    }
}

/* Two writers, each with every other piece of 1000 bytes: sectors that they share stay whole. */
typedef struct writer {
    sw_host_file *f;
    sw_host_engine engine;
    uint64_t first, n;
    bool ok;
} writer;

enum { PIECE = 1000 };

static void *write_pieces(void *arg) {
    writer *w = arg;
    sw_host_how how = {w->engine, MIB, 4, NULL};
    sw_host_mover m;
    char piece[PIECE];
    w->ok = sw_host_mover_open(&m, &how, NULL) == SW_OK;
    for (uint64_t i = w->first; i < w->n && w->ok; i += 2) {
        memset(piece, (int)(i + 1), sizeof piece);
        w->ok = sw_host_file_write(w->f, &m, i * PIECE, piece, PIECE, NULL) == SW_OK;
    }
    sw_host_mover_close(&m);
    return NULL;
}

static void shared_sectors(void) {
    for (size_t e = 0; e < 2; e++) {
        enum { N = 100 };
        sw_host_mover m;
        sw_host_file f;
        writer w[2];
        pthread_t thread[2];
        if (!open_mover(&m, engines[e], MIB, 1)) return;
        open_file(&f, true, N * PIECE);
        for (uint64_t i = 0; i < 2; i++) {
            w[i] = (writer){&f, engines[e], i, N, false};
            pthread_create(&thread[i], NULL, write_pieces, &w[i]);
        }
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        char *mem = memory(N * PIECE);
        CHECK(w[0].ok && w[1].ok);
        CHECK(sw_host_file_read(&f, &m, 0, mem, N * PIECE, NULL) == SW_OK);
        bool good = true;
        for (int k = 0; k < N * PIECE; k++) good &= mem[k] == (char)(k / PIECE + 1);
        CHECK(good);
        free(mem);
        sw_host_file_close(&f);
        sw_host_mover_close(&m);
    }
}

/* --- what fails --------------------------------------------------------------------------------- */

/* A request as the engines see it: what came of it, and what is left then. */
static void partial_results(void) {
    char *mem = memory(8 * SECTOR);
    sw_host_transfer t = {
        .fd = -1, .direct = true, .at = 0, .end = 8 * SECTOR, .mem = mem, .block = 4 * SECTOR};
    sw_host_request r = {0};
    sw_error err = {0};
    bool again = false;
    CHECK(sw_host_request_take(&t, &r) && sw_host_request_begin(&t, &r, &err) == SW_OK);
    CHECK(sw_host_request_ended(&t, &r, -EINTR, &again, &err) == SW_OK && again);
    CHECK(sw_host_request_ended(&t, &r, -EAGAIN, &again, &err) == SW_OK && again);
    CHECK(r.at == 0 && r.left.iov_len == 4 * SECTOR);
    CHECK(sw_host_request_ended(&t, &r, SECTOR + 100, &again, &err) == SW_OK && again);
    CHECK(r.at == SECTOR && r.left.iov_len == 3 * SECTOR && r.left.iov_base == mem + SECTOR);
    CHECK(sw_host_request_ended(&t, &r, 100, &again, &err) == SW_RUN && !again);
    CHECK_STR(err.text, "host: reading 12288 bytes at 4096 of the file: it ends there");
    CHECK(sw_host_request_ended(&t, &r, -EIO, &again, &err) == SW_RUN);
    CHECK_STR(err.text, "host: reading 12288 bytes at 4096 of the file: Input/output error");
    CHECK(sw_host_request_ended(&t, &r, 3 * SECTOR, &again, &err) == SW_OK && !again);
    t.direct = false;
    CHECK(sw_host_request_take(&t, &r) && r.at == 4 * SECTOR);
    CHECK(sw_host_request_ended(&t, &r, 100, &again, &err) == SW_OK && again);
    CHECK(r.at == 4 * SECTOR + 100 && r.left.iov_len == 4 * SECTOR - 100);
    CHECK(!sw_host_request_take(&t, &r));
    free(mem);
}

/* Once the call is back nothing may come any more. */
static void stays_as_it_is(char *mem, uint64_t bytes) {
    const struct timespec t = {.tv_nsec = 20000000};
    bool same = true;
    memset(mem, 0x5a, bytes);
    nanosleep(&t, NULL);
    for (uint64_t k = 0; k < bytes; k++) same &= mem[k] == 0x5a;
    CHECK(same);
}

static void a_file_cut_short(void) {
    const uint64_t size = 4 * MIB, cut[] = {0, 2 * MIB, 2 * MIB + SECTOR + 100};
    for (size_t e = 0; e < 2; e++)
        for (int i = 0; i < 12; i++) {
            sw_host_mover m;
            sw_host_file f;
            sw_error err = {0};
            if (!open_mover(&m, engines[e], i & 1 ? 64 * KIB : 8 * MIB, i & 2 ? 32 : 1)) return;
            open_file(&f, i >= 6, size);
            char *mem = memory(size + SECTOR), *at = mem + (i & 1);
            CHECK(sw_host_file_write(&f, &m, 0, at, size, &err) == SW_OK);
            CHECK(ftruncate(f.fd, (off_t)cut[i % 3]) == 0);
            CHECK(sw_host_file_read(&f, &m, 0, at, size, &err) == SW_RUN);
            CHECK(!strncmp(err.text, "host: reading ", 14) && strstr(err.text, "it ends there"));
            stays_as_it_is(mem, size + SECTOR);
            CHECK(sw_host_file_write(&f, &m, 0, at, size, &err) == SW_OK); /* it is whole again */
            CHECK(sw_host_file_read(&f, &m, 0, at, size, &err) == SW_OK);
            free(mem);
            sw_host_file_close(&f);
            sw_host_mover_close(&m);
        }
}

/* The first of them fails, the others are in flight. */
static void memory_that_is_not_there(void) {
    for (size_t e = 0; e < 2; e++)
        for (int write = 0; write < 2; write++) {
            const uint64_t size = 2 * MIB;
            sw_host_mover m;
            sw_host_file f;
            sw_error err = {0};
            if (!open_mover(&m, engines[e], 64 * KIB, 32)) return;
            open_file(&f, true, size);
            char *mem =
                mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(sw_host_file_write(&f, &m, 0, mem, size, &err) == SW_OK);
            CHECK(mprotect(mem, 64 * KIB, PROT_NONE) == 0);
            CHECK((write ? sw_host_file_write(&f, &m, 0, mem, size, &err)
                         : sw_host_file_read(&f, &m, 0, mem, size, &err)) == SW_RUN);
            CHECK(strstr(err.text, "Bad address") != NULL);
            stays_as_it_is(mem + 64 * KIB, size - 64 * KIB);
            munmap(mem, size);
            sw_host_file_close(&f);
            sw_host_mover_close(&m);
        }
}

static void *stop_soon(void *arg) {
    const struct timespec t = {.tv_nsec = 1000000};
    (void)arg;
    nanosleep(&t, NULL);
    atomic_store(&stop, true);
    return NULL;
}

/* A transfer of many requests ends in the midst of them: if not at once, then at another try, since
 * the thread that stops it may come late. */
static void stopped(void) {
    const uint64_t size = 64 * (uint64_t)MIB;
    for (size_t e = 0; e < 2; e++) {
        sw_host_mover m;
        sw_host_file f;
        pthread_t thread;
        if (!open_mover(&m, engines[e], SECTOR, 16)) return;
        open_file(&f, true, size);
        char *mem = memory(size);
        for (int i = 0; i < 50 && m.n_requests % (size / SECTOR) == 0; i++) {
            atomic_store(&stop, false);
            pthread_create(&thread, NULL, stop_soon, NULL);
            CHECK(sw_host_file_read(&f, &m, 0, mem, size, NULL) == SW_OK);
            pthread_join(thread, NULL);
        }
        CHECK(m.n_requests % (size / SECTOR) != 0);
        stays_as_it_is(mem, size);
        uint64_t n = m.n_requests; /* nothing begins afterwards */
        CHECK(sw_host_file_write(&f, &m, 1, mem, MIB, NULL) == SW_OK && m.n_requests == n);
        free(mem);
        sw_host_file_close(&f);
        sw_host_mover_close(&m);
    }
}

/* --- io_uring refused ---------------------------------------------------------------------------- */

/* As a container's filter does it: these calls fail with `why`. */
static bool refuse(int call, int why) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)why),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* 0: threads stand in when any engine will do, and io_uring is an error when it was asked for. */
static int under_refusal(int call, int why, const char *says) {
    sw_host_how how = {SW_HOST_URING, MIB, 4, NULL};
    sw_host_mover m;
    sw_host_file f;
    sw_error err = {0};
    char *mem = memory(MIB);
    if (!refuse(call, why)) return 77;
    if (sw_host_mover_open(&m, &how, &err) != SW_RUN) return 2;
    if (!strstr(err.text, says) && !strstr(err.text, "built without")) return 3;
    how.engine = SW_HOST_AUTO;
    err = (sw_error){0};
    if (sw_host_mover_open(&m, &how, &err) != SW_OK || err.status) return 4;
    if (m.how.engine != SW_HOST_THREADS) return 5;
    if (sw_host_file_open(&f, "", true, NULL) != SW_OK) return 6;
    if (sw_host_file_reach(&f, MIB, NULL) != SW_OK) return 7;
    if (sw_host_file_read(&f, &m, 0, mem, MIB, NULL) != SW_OK) return 8;
    sw_host_file_close(&f);
    sw_host_mover_close(&m);
    free(mem);
    return 0;
}

static void on_alarm(int signal) {
    (void)signal;
    atomic_store(&stop, true);
}

/* A ring that is refused when it is in use: the transfer fails, or tries again until it is stopped. */
static int refused_in_use(int why, sw_status expected, const char *says) {
    sw_host_mover m;
    sw_host_file f;
    sw_error err = {0};
    char *mem = memory(MIB);
    sw_host_how how = {SW_HOST_URING, 64 * KIB, 4, &stop};
    const struct itimerval soon = {.it_value = {.tv_usec = 5000}};
    atomic_store(&stop, false);
    signal(SIGALRM, on_alarm);
    if (sw_host_mover_open(&m, &how, NULL) != SW_OK) return 77;
    if (sw_host_file_open(&f, "", true, NULL) != SW_OK) return 2;
    if (sw_host_file_reach(&f, MIB, NULL) != SW_OK) return 3;
    if (!refuse(SYS_io_uring_enter, why)) return 77;
    if (expected == SW_OK) setitimer(ITIMER_REAL, &soon, NULL);
    if (sw_host_file_read(&f, &m, 0, mem, MIB, &err) != expected) return 4;
    if (!strstr(err.text, says)) return 5;
    sw_host_file_close(&f);
    sw_host_mover_close(&m);
    free(mem);
    return 0;
}

static void refused(void) {
    static const struct {
        int call, why;
        const char *says;
    } cases[] = {
        {SYS_io_uring_setup, EPERM, "host: io_uring is refused: Operation not permitted"},
        {SYS_io_uring_setup, ENOSYS, "host: io_uring is refused: Function not implemented"},
        {SYS_io_uring_enter, EPERM, "host: io_uring is refused: Operation not permitted"},
    };
    for (size_t i = 0; i < 5; i++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (!child)
            _exit(i < 3    ? under_refusal(cases[i].call, cases[i].why, cases[i].says)
                  : i == 3 ? refused_in_use(EPERM, SW_RUN, cases[0].says)
                           : refused_in_use(EAGAIN, SW_OK, ""));
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            printf("(not possible here) ");
        else
            CHECK_INT(WEXITSTATUS(status), 0);
    }
}

SW_TESTS("the file of host", {"integrity", integrity}, {"cutting", cutting},
         {"shared sectors", shared_sectors}, {"partial results", partial_results},
         {"a file cut short", a_file_cut_short},
         {"memory that is not there", memory_that_is_not_there}, {"stopped", stopped},
         {"io_uring refused", refused})
