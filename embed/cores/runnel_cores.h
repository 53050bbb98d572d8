/* Two cores, or more, for programs that `runnel embed --cores N` made: heavy operators are split, and the
 * results are the same bits. The library starts nothing by itself; the application says how another core is
 * made to compute.
 *
 *     static const runnel_job* volatile waiting;                      // what the second core looks at
 *     void second_core(void) {
 *       for (;;) {
 *         while (waiting == NULL) wait_for_event();
 *         memory_barrier();
 *         runnel_do(waiting, 1);
 *         memory_barrier();
 *         waiting = NULL;
 *       }
 *     }
 *     static void run(void* context, const runnel_job* job, uint32_t index) { memory_barrier(); waiting =
 * job; send_event(); } static void wait(void* context, uint32_t index) { while (waiting != NULL) {}
 * memory_barrier(); }
 *
 *     const runnel_cores cores = {2, run, wait, NULL};
 *     runnel_use_cores(node, &cores);                                 // anything pushed from here on
 *
 * Programs without --cores link nothing of it. */
#pragma once

#include "embed/runnel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of one operator, part i for core i. Lives until every core has done its part. */
typedef struct runnel_job runnel_job;
/* Computes part `index`, on the core that calls it. Needs some hundred bytes of stack and the processor's
 * state as on the first core (floating-point unit, traps), and may run at the same time as other parts. */
void runnel_do(const runnel_job* job, uint32_t index);

typedef struct runnel_cores {
  uint32_t count; /* that compute, the one that pushes samples included: 1 to RUNNEL_NAME_CORES */
  /* Makes core `index`, 1 to count - 1, call runnel_do(job, index), and returns without waiting for it. What
   * this core wrote must be visible to that one. */
  void (*run)(void* context, const runnel_job* job, uint32_t index);
  /* Returns when that core has done it, and what it wrote is visible to this one. Called once for each run().
   */
  void (*wait)(void* context, uint32_t index);
  void* context;
} runnel_cores;

/* Splits operators of this node among `cores`, which are copied, from now on; null: one core again. Errors:
 * INVALID_ARGUMENT for null pointers or another count; NOT_FOUND for a program without --cores. */
runnel_code runnel_use_cores(runnel_node* node, const runnel_cores* cores);

#ifdef __cplusplus
}
#endif
