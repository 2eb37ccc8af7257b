/* The frame of a CUnit program: a table of tests, one suite, exit 1 on any failure.
 *
 *   static void adds(void) { CHECK(1 + 1 == 2); }
 *   SW_TESTS("arithmetic", {"adds", adds})
 *    */
#ifndef SW_TESTS_CHECK_H
#define SW_TESTS_CHECK_H

#include <CUnit/Basic.h>
#include <math.h>
#include <string.h>

#define CHECK(cond)     CU_ASSERT_TRUE(cond)
#define CHECK_STR(a, b) CU_ASSERT_STRING_EQUAL(a, b)
#define CHECK_INT(a, b) CU_ASSERT_EQUAL(a, b)
/** |a - b| <= tol * |b|, and says both when it fails. */
#define CHECK_REL(a, b, tol)                                                                       \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (tol)*fabs(b_)))                                                    \
            printf("\n  %s:%d: %s = %.17g, expected %.17g\n", __FILE__, __LINE__, #a, a_, b_);     \
        CU_ASSERT_TRUE(fabs(a_ - b_) <= (tol)*fabs(b_));                                           \
    } while (0)

#define SW_TESTS(suite_name, ...)                                                                  \
    int main(void) {                                                                               \
        CU_TestInfo tests[] = {__VA_ARGS__, CU_TEST_INFO_NULL};                                    \
        CU_SuiteInfo suites[] = {{suite_name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL}; \
        if (CU_initialize_registry() || CU_register_suites(suites)) return 2;                      \
        CU_basic_set_mode(CU_BRM_VERBOSE);                                                         \
        CU_basic_run_tests();                                                                      \
        unsigned failed = CU_get_number_of_failures();                                             \
        CU_cleanup_registry();                                                                     \
        return failed ? 1 : 0;                                                                     \
    }

#endif
