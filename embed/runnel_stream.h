/* What a stream is to a C99 application, in firmware (embed/runnel.h) as on a host (the header of librunnel):
 * codes and their sentences, samples in, decisions out, saved states, facts and counters. Code that uses only
 * these declarations moves between desk and device unchanged; the two differ in where a program comes from
 * and who owns the memory. Included by both headers; applications include one of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum runnel_code {
  RUNNEL_OK = 0,
  RUNNEL_INVALID_ARGUMENT = 1,  /* a null pointer, or a call that makes no sense here */
  RUNNEL_INVALID_DATA = 2,      /* the model or saved bytes are damaged */
  RUNNEL_UNSUPPORTED = 3,       /* understood, but not possible in this build */
  RUNNEL_NOT_FOUND = 4,         /* an unknown name */
  RUNNEL_OUT_OF_MEMORY = 5,     /* the memory given is too small, or there is none left */
  RUNNEL_IO_ERROR = 6,          /* a source or sink failed; an NPU did not answer */
  RUNNEL_MISMATCH = 7,          /* parts disagree: type of samples, saved bytes of another model */
  RUNNEL_MISALIGNED = 8,        /* memory that does not start at a multiple of RUNNEL_ALIGNMENT */
  RUNNEL_WRONG_TARGET = 9,      /* the program and this library are for different processors */
  RUNNEL_WRONG_VERSION = 10,    /* the program is for another version of the library */
  RUNNEL_SELF_TEST_FAILED = 11, /* the model's results differ from its test vectors */
  RUNNEL_OVERRUN = 12,          /* samples came faster than they were taken; the lost ones are counted */
  RUNNEL_STOPPED = 13           /* a hook asked for the end */
} runnel_code;

/* The meaning of a code in a few words; "unknown code" for other numbers. Never null. */
const char* runnel_code_text(runnel_code code);
/* The sentence of the last failed call, of any node, with place, expected and found; empty before the first
 * failure. Never null. On hosts: of the last failed call of this thread. */
const char* runnel_last_failure(void);

/* Model, graph and sizes. In firmware constant and in ROM, written by `runnel embed`; on hosts loaded by the
 * runnel_load functions. */
typedef struct runnel_program runnel_program;
/* One stream of a program. */
typedef struct runnel_node runnel_node;

typedef enum runnel_stage {
  RUNNEL_FEATURES = 0, /* frames of the front end */
  RUNNEL_OUTPUT = 1    /* output of the model; of a program without decisions, what its last node gives: of a
                          noise filter the samples, float32 */
} runnel_stage;

/* Receives `count` frames of `frame_bytes` bytes each, the first one with index `first`. Valid during the
 * call. */
typedef void (*runnel_frames_function)(void* user, runnel_stage stage, const void* frames, size_t count,
                                       size_t frame_bytes, int64_t first);

/* All 0: the defaults of a host. */
typedef struct runnel_options {
  void* memory; /* owned by the caller; must outlive the node. Not used on hosts, which take the heap */
  size_t bytes;
  void* fast; /* a second tier: small, faster memory; null: none. Not used on hosts */
  size_t fast_bytes;
  runnel_frames_function on_frames; /* may be null. Needs RUNNEL_OBSERVE_BYTES more memory */
  void* user;
} runnel_options;
#define RUNNEL_OBSERVE_BYTES 1536

/* Verifies the model, plans and allocates everything. *node is null after a failure. Errors:
 * RUNNEL_INVALID_DATA (a wrong checksum or structure of the model), OUT_OF_MEMORY, MISALIGNED, WRONG_TARGET,
 * WRONG_VERSION, UNSUPPORTED, MISMATCH. On hosts `options` may be null, and runnel_close() frees the node. */
runnel_code runnel_prepare(const runnel_program* program, const runnel_options* options, runnel_node** node);

/* Pushes any number of `frames` samples (of all channels, interleaved) and processes them before it returns.
 * Errors: MISMATCH when the program takes samples of the other type. */
runnel_code runnel_push_int16(runnel_node* node, const int16_t* samples, size_t frames);
runnel_code runnel_push_float(runnel_node* node, const float* samples, size_t frames);
/* `frames` samples were lost: finishes those before the gap, and the stream restarts after it at the right
 * time. It has at most 2^46 samples with lost ones; more are an INVALID_ARGUMENT, as of runnel_push...(). */
runnel_code runnel_lost(runnel_node* node, uint64_t frames);
/* The stream has ended: finishes it. Afterwards only runnel_poll() and runnel_reset() are useful. */
runnel_code runnel_end(runnel_node* node);

/* Room for the text of a decoder of speech, with its end; a longer one is cut. Not cut on hosts. */
#define RUNNEL_TEXT_BYTES 128

/* A decision. Times are samples since the start of the stream, [begin, end). */
typedef struct runnel_event {
  const char* label;   /* zero-terminated, as long-lived as the program; a decoder's text is in the node's
                          memory,   until as many more decisions come as the queue has room for */
  int32_t label_index; /* among runnel_label(); -1: none of them */
  float score;         /* 0 .. 1 */
  int64_t begin, end;
  int64_t frame; /* of the model's output */
} runnel_event;

/* Returns 1 with the oldest waiting decision, else 0. When too many wait, the oldest are dropped and counted.
 */
int runnel_poll(runnel_node* node, runnel_event* event);

/* Restores the state after runnel_prepare(); counters start at 0. */
runnel_code runnel_reset(runnel_node* node);

/* Saves the whole state of a node as bytes, so that a machine can be switched off. They are valid for the
 * same program: in firmware in the same image at the same addresses, on hosts in any node of any process with
 * the same version of the library, whatever its processor's instructions. runnel_restore() refuses other
 * bytes (MISMATCH) and damaged ones (INVALID_DATA) and leaves the node unchanged. On hosts every number in
 * them is checked, too: where bytes with a right checksum say what no node has written, the node is reset,
 * and the sentence says so. There the number of bytes depends on the state, until the next call that changes
 * the node; graphs with a node that cannot be saved are UNSUPPORTED, and runnel_saved_bytes() is then 0;
 * frames that wait to be fetched are not saved, decisions and texts are. */
size_t runnel_saved_bytes(const runnel_node* node);
runnel_code runnel_save(const runnel_node* node, void* to, size_t bytes);
runnel_code runnel_restore(runnel_node* node, const void* from, size_t bytes);

typedef struct runnel_facts {
  const char* name;
  uint32_t sample_rate; /* in Hz */
  uint32_t channels;
  uint32_t hop; /* samples processed at once; on hosts at most */
  uint32_t labels;
  size_t model_bytes;  /* in ROM; on hosts of all models of the program */
  size_t memory_bytes; /* maximum for runnel_prepare(); on hosts of each node */
  size_t fast_bytes;
} runnel_facts;
runnel_facts runnel_facts_of(const runnel_program* program);
/* Null after the last one. */
const char* runnel_label(const runnel_program* program, uint32_t index);

typedef struct runnel_counters {
  uint64_t samples; /* received, including gated ones */
  uint64_t lost;    /* never received */
  uint64_t gated;   /* not processed, because the gate was closed */
  uint64_t gaps;
  uint64_t events;
  uint64_t dropped_events; /* not fetched in time */
  uint64_t overruns;
  size_t memory_used, fast_used; /* bytes of the memory given; on hosts, of the heap, without shared models */
  /* Of programs with parts for an NPU: of all devices (embed/npu/runnel_npu.h) and all nodes since the start.
   * Cycles and beats (8 bytes on Ethos-U55, 16 on U65 and U85) are the device's own counters: to SRAM or the
   * first port, and to other memory or the second. */
  uint64_t npu_runs, npu_failures, npu_cycles;
  uint64_t npu_near_read_beats, npu_near_written_beats, npu_far_read_beats, npu_far_written_beats;
} runnel_counters;
runnel_counters runnel_counters_of(const runnel_node* node);

/* Activity gate before the inference: skips a push whose variance (mean square around its mean, summed over
 * channels, in squared units of the samples) is below `threshold`, unless fewer than `hold` samples have
 * passed since the last push above it. After such a pause the stream restarts at the right time. A threshold
 * of 0 keeps the gate open. Push blocks of one size: each is judged as a whole. */
typedef struct runnel_gate {
  float threshold;
  uint32_t hold;
} runnel_gate;
runnel_code runnel_set_gate(runnel_node* node, runnel_gate gate);

#ifdef __cplusplus
}
#endif
