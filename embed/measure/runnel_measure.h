/* What a board reports of a program that `runnel embed --counters` made: times by node and by operator, the
 * highest marks of memory and stack, lateness, lost samples, and the NPU's own counters.
 *
 *     static uint32_t cycles(void* user) { return TIMER->COUNT; }
 *     static void say(void* user, const char* line) { uart_puts(line); uart_puts("\n"); }
 *
 *     const runnel_board board = {cycles, 100000000, stack_used, NULL};
 *     if (runnel_measure(node, &board) != RUNNEL_OK) puts(runnel_last_failure());
 *     ... runnel_push_int16(node, samples, count); ...
 *     runnel_tell(node, say, NULL);                   // `runnel profile MODEL --from-device` reads these
 * lines
 *
 * Programs without --counters link nothing of it. Same thread as the node. */
#pragma once

#include "embed/runnel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the board provides. */
typedef struct runnel_board {
  /* Reads a counter of 32 bits that counts up and wraps: of cycles, or of the ticks of a timer. No single
   * node may take longer than one round of it. Null: the core's own, CYCCNT of the DWT on Cortex-M, mcycle on
   * RISC-V in machine mode. */
  uint32_t (*cycles)(void* user);
  uint32_t hz; /* of the counter; 0: unknown, then lateness is not measured */
  /* Bytes of stack down to the deepest word that was ever written, on boards whose start-up code paints it.
   * Null: unknown. */
  size_t (*stack_used)(void* user);
  void* user;
} runnel_board;

/* Measures a prepared node from now on; again: all figures restart at 0. The board is copied. Takes a part of
 * the node's memory that RUNNEL_NAME_MEMORY_BYTES includes. Errors: INVALID_ARGUMENT; NOT_FOUND for a program
 * without --counters; UNSUPPORTED without a counter, when the core has none or its own stands still;
 * OUT_OF_MEMORY. */
runnel_code runnel_measure(runnel_node* node, const runnel_board* board);

/* Of a node of the graph: calls that processed samples or frames, or ended the stream. */
typedef struct runnel_stage_time {
  const char* name; /* "source", "fbank", ...; as long-lived as the program */
  uint64_t calls, cycles;
  uint32_t most; /* cycles of the longest call */
} runnel_stage_time;
/* Of `count` operators of the model from number `first` on, in its file's order, which are computed in one
 * step. Runs at the end of a stream, and at gaps, are not measured. */
typedef struct runnel_operator_time {
  uint32_t first, count;
  uint64_t runs, cycles;
  uint32_t most; /* cycles of the longest run */
} runnel_operator_time;
/* 1 and the figures, or 0 after the last one and for a node that is not measured. */
int runnel_stage_time_of(const runnel_node* node, uint32_t index, runnel_stage_time* out);
int runnel_operator_time_of(const runnel_node* node, uint32_t index, runnel_operator_time* out);

typedef struct runnel_measures {
  uint64_t steps;  /* of the graph: at most RUNNEL_NAME_HOP samples each */
  uint64_t cycles; /* of all steps, in nodes; without the end of the stream */
  uint64_t most;   /* of the longest step */
  /* With the counter's rate: steps that took longer than their samples last, and the most cycles by which the
   * work was behind the samples, if these come steadily. */
  uint64_t late, behind;
  size_t memory_used, memory_planned, fast_used,
      fast_planned;             /* bytes; planned: of RUNNEL_NAME_MEMORY_BYTES */
  size_t arena, scratch, state; /* bytes of the model in them */
  size_t stack_used;            /* bytes; 0: unknown */
} runnel_measures;
/* All 0 for a node that is not measured. */
runnel_measures runnel_measures_of(const runnel_node* node);

/* Receives a line without its end, zero-terminated, valid during the call. */
typedef void (*runnel_line_function)(void* user, const char* line);
#define RUNNEL_LINE_BYTES 256
/* Reports everything above, and runnel_counters, as the lines of docs/firmware.md. Errors: INVALID_ARGUMENT;
 * NOT_FOUND for a node that is not measured. */
runnel_code runnel_tell(const runnel_node* node, runnel_line_function line, void* user);
/* runnel_self_test(), and its result as such a line. */
runnel_code runnel_tell_self_test(const runnel_program* program, const runnel_options* options,
                                  runnel_line_function line, void* user);

#ifdef __cplusplus
}
#endif
