/* Do arrays grow without losing anything, and refuse sizes that overflow without changing? */
#include "sim/base/vec.h"
#include "check.h"
#include "sim/base/rng.h"

static void pushes(void) {
    SW_VEC(uint64_t) ids = {0};
    for (uint64_t i = 0; i < 100000; i++) CHECK(sw_vec_push(&ids, i * i));
    CHECK_INT(ids.n, 100000);
    CHECK(ids.cap >= ids.n && ids.cap < 4 * ids.n);
    for (uint64_t i = 0; i < ids.n; i++)
        if (ids.v[i] != i * i) CU_FAIL("an item was lost");
    sw_vec_free(&ids);
    CHECK(ids.v == NULL && ids.n == 0 && ids.cap == 0);
    sw_vec_free(&ids);
}

static void reserves(void) {
    SW_VEC(char) text = {0};
    volatile size_t nothing = 0;
    CHECK(sw_vec_reserve(&text, nothing));
    CHECK(text.v == NULL);
    CHECK(sw_vec_reserve(&text, 1000) && text.cap >= 1000);
    char *at = text.v;
    CHECK(sw_vec_reserve(&text, text.cap) && text.v == at);
    CHECK(sw_vec_reserve(&text, text.cap + 1));
    sw_vec_free(&text);
}

static void overflows(void) {
    uint64_t *v = NULL;
    size_t cap = 0;
    CHECK(sw_grow((void **)&v, &cap, 3, sizeof *v));
    v[2] = 7;
    uint64_t *was = v;
    size_t was_cap = cap;
    CHECK(!sw_grow((void **)&v, &cap, SIZE_MAX, sizeof *v));
    CHECK(!sw_grow((void **)&v, &cap, SIZE_MAX / 8 + 2, sizeof *v));
    CHECK(!sw_grow((void **)&v, &cap, SIZE_MAX / 2, sizeof *v));
    CHECK(v == was && cap == was_cap && v[2] == 7);
    free(v);
}

static void zeroed(void) {
    volatile size_t half = SIZE_MAX / 2 + 1; /* hidden from the compiler's own check */
    CHECK(sw_zalloc(half, 2) == NULL);
    CHECK(sw_zalloc(half, half) == NULL);
    unsigned char *p = sw_zalloc(100, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    for (int i = 0; i < 300; i++) CHECK(p[i] == 0);
    free(p);
    p = sw_zalloc(0, 0);
    CHECK(p != NULL); /* NULL says out of memory, never nothing asked */
    free(p);
    char *s = sw_strdup("text");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CHECK_STR(s, "text");
    free(s);
}

/* Against the authors' C code, seeded {1, 2, 3, 4}; and splitmix64 from the seed 1234567. */
static void random_numbers(void) {
    sw_rng r = {{1, 2, 3, 4}};
    CHECK(sw_rng_next(&r) == 11520u);
    CHECK(sw_rng_next(&r) == 0u);
    CHECK(sw_rng_next(&r) == 1509978240u);
    CHECK(sw_rng_next(&r) == 1215971899390074240u);
    uint64_t x = 1234567;
    CHECK(sw_splitmix64(&x) == 6457827717110365317u);
    CHECK(sw_splitmix64(&x) == 3203168211198807973u);
    int seen[7] = {0};
    r = sw_rng_seed(1);
    for (int i = 0; i < 70000; i++) {
        double u = sw_rng_unit(&r);
        if (!(u >= 0 && u < 1)) CU_FAIL("outside [0, 1)");
        seen[sw_rng_below(&r, 7)]++;
    }
    for (int i = 0; i < 7; i++) CHECK(seen[i] > 9500 && seen[i] < 10500); /* five sigma: 463 */
    CHECK(sw_rng_below(&r, 1) == 0);
}

SW_TESTS("vec", {"pushes", pushes}, {"reserves", reserves}, {"overflows", overflows},
         {"zeroed", zeroed}, {"random numbers", random_numbers})
