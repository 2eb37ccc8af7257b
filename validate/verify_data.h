/* The half of the verifier that follows bytes. Internal to validate/verify*.c. */
#ifndef SW_VERIFY_DATA_H
#define SW_VERIFY_DATA_H

#include "validate/runs.h"
#include "validate/verify.h"

typedef struct sw_data sw_data;

/* Who is told of violations. */
typedef void sw_complain_fn(void *arg, sw_rule rule, uint64_t op, uint64_t other, const char *fmt,
                            ...) __attribute__((format(printf, 5, 6)));

sw_data *sw_data_new(const sw_topology *topo, sw_complain_fn *complain, void *arg);
void sw_data_free(sw_data *d);
/* Both false when memory is out. The op's form has been checked. */
bool sw_data_placed(sw_data *d, const sw_block *block, int tier, uint64_t addr);
bool sw_data_op(sw_data *d, const sw_op *op, const sw_done *done);

/** Is `now` before `due`, beyond the tolerance? */
bool sw_verify_early(double now_s, double due_s);

#endif
