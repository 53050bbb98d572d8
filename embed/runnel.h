/* runnel for C99 applications: runs a program that `runnel embed` made from a model and its graph, on samples
 * as they arrive.
 *
 *     // Written by runnel embed: RUNNEL_DIGITS_MEMORY_BYTES, runnel_digits.
 *     #include "digits.h"
 *     static RUNNEL_ALIGNED unsigned char memory[RUNNEL_DIGITS_MEMORY_BYTES];
 *     runnel_options options = {memory, sizeof memory};
 *     runnel_node* node;
 *     if (runnel_prepare(&runnel_digits, &options, &node) != RUNNEL_OK) {
 *       puts(runnel_last_failure());
 *       return 1;
 *     }
 *     for (;;) {
 *       runnel_event event;
 *       runnel_push_int16(node, samples, count);          // any count
 *       while (runnel_poll(node, &event)) printf("%s\n", event.label);
 *     }
 *
 * No heap: everything lives in the memory that the caller gives to runnel_prepare(). No function asserts,
 * waits or ends the program; every failure is a code, with a sentence in runnel_last_failure(). A node
 * belongs to one thread; of this file, only runnel_half_filled() may be called from an interrupt. */
#pragma once

#include "embed/runnel_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for runnel_prepare() starts at a multiple of this. */
#define RUNNEL_ALIGNMENT 64
#define RUNNEL_ALIGNED __attribute__((aligned(64)))

/* Double buffer: two halves that an interrupt (or DMA) fills in turn. */
typedef struct runnel_double_buffer {
  const void* samples;      /* 2 * frames, in the program's type */
  uint32_t frames;          /* of one half */
  volatile uint32_t filled; /* complete halves since the start; only runnel_half_filled() writes it */
  uint32_t taken;           /* halves processed or lost */
} runnel_double_buffer;
/* Call from the interrupt when a half is complete and the other one is being filled. */
static inline void runnel_half_filled(runnel_double_buffer* buffer) { buffer->filled = buffer->filled + 1; }
/* Call from the main loop: processes complete halves. Halves overwritten before or while they are read count
 * as lost samples; the result is then RUNNEL_OVERRUN, after all other work. */
runnel_code runnel_take(runnel_node* node, runnel_double_buffer* buffer);

/* Callbacks of runnel_loop(). */
typedef struct runnel_hooks {
  void (*event)(void* user, const runnel_event* event);
  void (*wait)(void* user); /* idle: sleep until the next interrupt (wfi). May be null */
  int (*stop)(void* user);  /* not 0: end the stream and return. May be null */
  void* user;
} runnel_hooks;
/* The main loop of a sensor: halves of `buffer`, decisions, sleep. Counts overruns. Returns RUNNEL_OK when
 * `stop` returns nonzero, or a failure. */
runnel_code runnel_loop(runnel_node* node, runnel_double_buffer* buffer, const runnel_hooks* hooks);

/* Runs the test vectors embedded with --self-test, in the memory of `options`, which it overwrites. Errors:
 * those of runnel_prepare(); NOT_FOUND without vectors; SELF_TEST_FAILED with vector, tensor and place. */
runnel_code runnel_self_test(const runnel_program* program, const runnel_options* options);

#ifdef __cplusplus
}
#endif
