/* runnel for applications in C99: a program that `runnel embed` has made out of a model and its graph, run on
 * samples as they come.
 *
 *     #include "digits.h"                                 // written by runnel embed:
 * RUNNEL_DIGITS_MEMORY_BYTES, runnel_digits static RUNNEL_ALIGNED unsigned char
 * memory[RUNNEL_DIGITS_MEMORY_BYTES]; runnel_options options = {memory, sizeof memory}; runnel_node* node; if
 * (runnel_prepare(&runnel_digits, &options, &node) != RUNNEL_OK) { puts(runnel_last_failure()); return 1; }
 *     for (;;) {
 *       runnel_event event;
 *       runnel_push_int16(node, samples, count);          // any count
 *       while (runnel_poll(node, &event)) printf("%s\n", event.label);
 *     }
 *
 * No heap: everything lives in the memory that the caller brings to runnel_prepare(). Nothing here asserts,
 * waits or ends the program; every failure is a code, with a sentence in runnel_last_failure(). A node
 * belongs to one thread; of this file, only runnel_half_filled() may be called from an interrupt. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum runnel_code {
  RUNNEL_OK = 0,
  RUNNEL_INVALID_ARGUMENT = 1, /* a null pointer, or a call that makes no sense here */
  RUNNEL_INVALID_DATA = 2,     /* the model in ROM is damaged, or saved bytes are not what they claim to be */
  RUNNEL_UNSUPPORTED = 3,      /* understood, but not something that this build can do */
  RUNNEL_NOT_FOUND = 4,        /* a name that is not there */
  RUNNEL_OUT_OF_MEMORY = 5,    /* the memory given is too small */
  RUNNEL_IO_ERROR = 6,         /* a source or sink failed */
  RUNNEL_MISMATCH = 7,   /* two parts that must agree do not: type of samples, saved bytes of another model */
  RUNNEL_MISALIGNED = 8, /* memory that does not start at a multiple of RUNNEL_ALIGNMENT */
  RUNNEL_WRONG_TARGET = 9, /* the program was made for another processor than this library was compiled for */
  RUNNEL_WRONG_VERSION = 10,    /* the program was made for another version of the library */
  RUNNEL_SELF_TEST_FAILED = 11, /* the model gives other numbers than the vectors that came with it */
  RUNNEL_OVERRUN = 12, /* samples came faster than they were taken; those that were lost are counted */
  RUNNEL_STOPPED = 13  /* a hook asked for the end */
} runnel_code;

/* What a code means, in a few words; for numbers that are no code, "unknown code". Never null. */
const char* runnel_code_text(runnel_code code);
/* The sentence of the last call that failed, of any node, with place, expected and found; empty when none
 * has. Never null. */
const char* runnel_last_failure(void);

/* Memory that is given to runnel_prepare() starts at a multiple of this. */
#define RUNNEL_ALIGNMENT 64
#define RUNNEL_ALIGNED __attribute__((aligned(64)))

/* Constant, in ROM: model, graph, operators and sizes. `runnel embed` writes them. */
typedef struct runnel_program runnel_program;
/* One stream of a program. Lives in the memory of its options. */
typedef struct runnel_node runnel_node;

typedef enum runnel_stage {
  RUNNEL_FEATURES = 0, /* what the front end gives */
  RUNNEL_OUTPUT = 1    /* what the model gives */
} runnel_stage;

/* Frames as they pass: `count` of them of `frame_bytes` bytes each, the first one with index `first`. Valid
 * during the call. */
typedef void (*runnel_frames_function)(void* user, runnel_stage stage, const void* frames, size_t count,
                                       size_t frame_bytes, int64_t first);

typedef struct runnel_options {
  void* memory; /* the caller's, as long as the node is used */
  size_t bytes;
  void* fast; /* a second tier: little memory that is faster than the first; null: there is none */
  size_t fast_bytes;
  runnel_frames_function
      on_frames; /* null: frames are not looked at. Needs RUNNEL_OBSERVE_BYTES more memory */
  void* user;
} runnel_options;
#define RUNNEL_OBSERVE_BYTES 1536

/* Verifies the model, plans and allocates everything. *node is null after a failure. Errors:
 * RUNNEL_INVALID_DATA (a checksum or a structure of the model), OUT_OF_MEMORY, MISALIGNED, WRONG_TARGET,
 * WRONG_VERSION, UNSUPPORTED, MISMATCH. */
runnel_code runnel_prepare(const runnel_program* program, const runnel_options* options, runnel_node** node);

/* `frames` samples (of all channels, interleaved) of the stream. Any number; everything that follows from
 * them has happened when it returns. Errors: MISMATCH when the program takes samples of the other type. */
runnel_code runnel_push_int16(runnel_node* node, const int16_t* samples, size_t frames);
runnel_code runnel_push_float(runnel_node* node, const float* samples, size_t frames);
/* `frames` samples were lost before the next ones: what was heard is brought out, and the stream starts
 * afresh at its place in time. */
runnel_code runnel_lost(runnel_node* node, uint64_t frames);
/* The stream has ended: brings out what is left. Then only runnel_poll() and runnel_reset() make sense. */
runnel_code runnel_end(runnel_node* node);

/* A decision. Times are samples since the start of the stream, [begin, end). */
typedef struct runnel_event {
  const char* label;   /* in ROM, ended by a zero byte */
  int32_t label_index; /* among runnel_label() */
  float score;         /* 0 .. 1 */
  int64_t begin, end;
  int64_t frame; /* of the model's output */
} runnel_event;

/* 1 and the oldest decision that waits, or 0. Where they wait too long the oldest are dropped and counted. */
int runnel_poll(runnel_node* node, runnel_event* event);

/* Back to the beginning, as after runnel_prepare(); counters start at 0. */
runnel_code runnel_reset(runnel_node* node);

/* Everything that a node remembers, as bytes, so that a machine can be switched off. They are good for the
 * same program in the same image at the same addresses: runnel_restore() of other ones is refused (MISMATCH),
 * damaged ones too (INVALID_DATA); the node is unchanged then. */
size_t runnel_saved_bytes(const runnel_node* node);
runnel_code runnel_save(const runnel_node* node, void* to, size_t bytes);
runnel_code runnel_restore(runnel_node* node, const void* from, size_t bytes);

typedef struct runnel_facts {
  const char* name;
  uint32_t sample_rate; /* in Hz */
  uint32_t channels;
  uint32_t hop; /* samples that are worked on at once */
  uint32_t labels;
  size_t model_bytes;  /* in ROM */
  size_t memory_bytes; /* that runnel_prepare() takes at most */
  size_t fast_bytes;
} runnel_facts;
runnel_facts runnel_facts_of(const runnel_program* program);
/* Null beyond the last one. */
const char* runnel_label(const runnel_program* program, uint32_t index);

typedef struct runnel_counters {
  uint64_t samples; /* that came, those before a closed gate included */
  uint64_t lost;    /* that never came */
  uint64_t gated;   /* that nobody worked on, because the gate was closed */
  uint64_t gaps;
  uint64_t events;
  uint64_t dropped_events; /* that nobody fetched in time */
  uint64_t overruns;
  size_t memory_used, fast_used; /* bytes of the memory given */
} runnel_counters;
runnel_counters runnel_counters_of(const runnel_node* node);

/* Activity before the inference: a push whose variance (mean square around its mean, summed over
 * channels, in squared units of the samples) is below `threshold` is not worked on, unless fewer than `hold`
 * samples have passed since the last one above. After such a pause the stream starts afresh at its place in
 * time. A threshold of 0 opens the gate for ever. Push pieces of one size: each is judged as a whole. */
typedef struct runnel_gate {
  float threshold;
  uint32_t hold;
} runnel_gate;
runnel_code runnel_set_gate(runnel_node* node, runnel_gate gate);

/* Two halves of a buffer that an interrupt (or DMA) fills in turns. */
typedef struct runnel_double_buffer {
  const void* samples; /* 2 * frames of them, in the program's type */
  uint32_t frames;     /* of one half */
  volatile uint32_t
      filled;     /* halves that are complete, since the start; only runnel_half_filled() writes it */
  uint32_t taken; /* halves that were worked on or lost */
} runnel_double_buffer;
/* From the interrupt, when a half is complete; the other one is being filled from now on. */
static inline void runnel_half_filled(runnel_double_buffer* buffer) { buffer->filled = buffer->filled + 1; }
/* From the main loop: works on the halves that are complete. Halves that were overwritten before or while
 * they were read count as lost samples; then, after everything has been done, RUNNEL_OVERRUN. */
runnel_code runnel_take(runnel_node* node, runnel_double_buffer* buffer);

/* What runnel_loop() calls. */
typedef struct runnel_hooks {
  void (*event)(void* user, const runnel_event* event);
  void (*wait)(void* user); /* nothing to do: sleep until the next interrupt (wfi). May be null */
  int (*stop)(void* user);  /* not 0: end the stream and return. May be null */
  void* user;
} runnel_hooks;
/* The main loop of a sensor: halves of `buffer`, decisions, sleep. Overruns are counted. Ends with RUNNEL_OK
 * when `stop` says so, or with a failure. */
runnel_code runnel_loop(runnel_node* node, runnel_double_buffer* buffer, const runnel_hooks* hooks);

/* Runs the test vectors that were embedded with --self-test, in `options` memory (of which nothing is left).
 * Errors: those of runnel_prepare(); NOT_FOUND without vectors; SELF_TEST_FAILED with vector, tensor and
 * place. */
runnel_code runnel_self_test(const runnel_program* program, const runnel_options* options);

#ifdef __cplusplus
}
#endif
