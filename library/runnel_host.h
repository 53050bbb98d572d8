/* runnel for C99 programs on hosts: models over streams of samples, and over tensors. Installed as
 * <runnel/runnel.h>; link librunnel (pkg-config runnel).
 *
 *     runnel_program* program;
 *     runnel_node* node;
 *     if (runnel_load_file("digits.rnl", NULL, &program) != RUNNEL_OK ||
 *         runnel_prepare(program, NULL, &node) != RUNNEL_OK) {
 *       fprintf(stderr, "%s\n", runnel_last_failure());
 *       return 1;
 *     }
 *     while ((count = read_samples(samples)) > 0) {
 *       runnel_event event;
 *       runnel_push_int16(node, samples, count);          // any count
 *       while (runnel_poll(node, &event)) printf("%s\n", event.label);
 *     }
 *     runnel_end(node);
 *
 * What concerns a stream is declared in runnel_stream.h, which the header for firmware includes too.
 *
 * Failures are codes, with a sentence in runnel_last_failure(). No function ends the program, writes to its
 * standard streams or lets an exception out. A failed call leaves its object as it was, unless it says
 * otherwise.
 *
 * Threads: a program is constant; any number of threads may use it at the same time. A node, or a run,
 * belongs to one thread at a time; different ones are independent. runnel_last_failure() is that of the
 * calling thread.
 *
 * Interfaces: functions are added, and none changes or disappears, while the library is librunnel.so.0. */
#pragma once

#include "embed/runnel_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, "MAJOR.MINOR.PATCH". Never null. */
const char* runnel_version(void);

/* ---- Programs
 *
 * `settings` is text of the form "key=value key=value", as in graphs; null or empty: the defaults. Values
 * with blanks are quoted. The keys:
 *
 *   rate       Hz, of the pushed samples (16000). Resampled where the front end wants another rate; 0: the
 *              rate that the front end wants, which runnel_facts_of() then gives (16000 if it takes any)
 *   channels   of the pushed samples, interleaved (1). Mixed down where the front end wants one
 *   threshold  posterior, 0 .. 1, at which a decision is made (the model's own)
 *   front_end  graph text before the model (the model's own)
 *   decision   graph text after the model (the model's own)
 *   chunk      frames per run of a streamed model (0: as many as there are)
 *   on_gap     of lost samples: reset (the default) or zeros
 *   events     decisions and texts that may wait, of each; the oldest are dropped (1024)
 *   frames     frames of each stage that may wait for runnel_poll_frames() (0: none are kept)
 *   source     name in runnel_line() (samples)
 *   key_file   key of an encrypted model (the environment variable RUNNEL_KEY)
 *   trust      file of a public key, list or folder of keys: only models that one of them has signed are
 * taken (the environment variable RUNNEL_TRUST, or all models). Bytes in memory are then those of a signature
 * (MODEL.sig) followed by the model
 *
 * Errors of the functions that load: INVALID_ARGUMENT (a null pointer, an unknown key, a value out of its
 * range, a graph that cannot be built), NOT_FOUND (a file), INVALID_DATA (a damaged model), UNSUPPORTED,
 * MISMATCH, OUT_OF_MEMORY. *program is null after a failure. */

/* A model file with its front end and its decision, in every format that the program runnel reads. A model
 * without a decision gives frames only. */
runnel_code runnel_load_file(const char* path, const char* settings, runnel_program** program);
/* The same of a .rnl file in memory, plain or encrypted. The bytes are copied. */
runnel_code runnel_load_memory(const void* bytes, size_t size, const char* settings,
                               runnel_program** program);
/* A graph from samples to decisions, frames or sound, such as "fbank ! infer model=a.rnl ! detect": without a
 * source and without sinks, which the library provides. */
runnel_code runnel_load_graph(const char* text, const char* settings, runnel_program** program);
/* Frees a program when its nodes and runs are closed too; they stay valid. Null is allowed. */
void runnel_release(runnel_program* program);

/* The whole graph as text, with the conversions that were inserted. As long-lived as the program; null for
 * null. */
const char* runnel_graph_of(const runnel_program* program);
/* The delay of the output: the longest time in seconds from the end of the sound that a decision (or, without
 * decisions, the last stage) is about to its output, when samples come one by one. Blocks of n samples add up
 * to (n - 1) / rate. Computing time is not included. Negative: nothing comes out before the end of the
 * stream, or `program` is null. The first call of a program measures it, in milliseconds to seconds. */
double runnel_delay_of(const runnel_program* program);

/* ---- Nodes: streams of a program, made by runnel_prepare(). All nodes of a program share its models. */

/* Frees a node. Null is allowed. */
void runnel_close(runnel_node* node);
/* A second node in the same state: with the same samples, both give the same decisions from here on, and
 * those that wait, and texts, are in both. Frames that wait stay with the first one. Errors: UNSUPPORTED for
 * graphs that cannot be saved;
 * OUT_OF_MEMORY. */
runnel_code runnel_clone(const runnel_node* node, runnel_node** copy);
/* The decision that runnel_poll() returned last as a line of JSON, without a newline, as `runnel listen`
 * prints it; empty before the first one. Valid until the next call with this node. Null for null. */
const char* runnel_line(runnel_node* node);

/* Element types of frames and tensors. */
typedef enum runnel_type {
  RUNNEL_FLOAT32 = 1,
  RUNNEL_INT8 = 2,
  RUNNEL_UINT8 = 3,
  RUNNEL_INT16 = 4,
  RUNNEL_UINT16 = 5,
  RUNNEL_INT32 = 6,
  RUNNEL_INT64 = 7,
  RUNNEL_BOOLEAN = 8,
  RUNNEL_FLOAT64 = 9
} runnel_type;

/* Frames that follow each other without a gap. */
typedef struct runnel_frames {
  const void* data; /* `count` frames of `values` values; valid until the next call with this node */
  size_t count;
  int64_t first; /* absolute index of the first one; they continue over gaps */
  int32_t values;
  runnel_type type;
  float scale; /* of integers: value = scale * integer; 1 for floats */
} runnel_frames;

/* Returns 1 with frames that were not fetched before, as many as follow each other, else 0. RUNNEL_FEATURES:
 * what the (first) model gets; RUNNEL_OUTPUT: what the (last) model gives, or the last stage of a graph
 * without decisions. When more than the setting `frames` wait, the oldest are dropped. */
int runnel_poll_frames(runnel_node* node, runnel_stage stage, runnel_frames* frames);

/* A word or token that a decoder of speech has heard. Times are samples since the start, [begin, end). */
typedef struct runnel_heard {
  const char* text;
  int64_t begin, end;
  float confidence; /* 0 .. 1 */
} runnel_heard;

/* What a decoder of speech has heard. */
typedef struct runnel_text {
  const char* text; /* the words with single spaces, UTF-8; may be empty */
  int32_t is_final; /* 0: a partial result, which the next one of the same segment replaces */
  int64_t segment;  /* number of the utterance in the stream, from 0 on */
  int64_t begin, end;
  int32_t stable; /* the first words that no later result of this segment changes */
  const runnel_heard* words;
  size_t word_count;
  const runnel_heard* tokens; /* as the model's vocabulary writes them */
  size_t token_count;
} runnel_text;

/* Returns 1 with the oldest waiting text, partial ones included, else 0. Final ones are decisions too
 * (runnel_poll). Valid until the next call with this node. */
int runnel_poll_text(runnel_node* node, runnel_text* text);

/* ---- Runs: a model over whole tensors, without a front end. */

#define RUNNEL_MAX_RANK 8

/* An input or output of a model. */
typedef struct runnel_tensor {
  const char* name; /* as long-lived as the run; "#INDEX" where names were stripped */
  runnel_type type;
  int32_t rank;
  int32_t dims[RUNNEL_MAX_RANK]; /* row-major; those past `rank` are 0 */
  size_t bytes;
  void* data;         /* of the runner: write inputs there before runnel_run(), read outputs afterwards */
  float scale;        /* of integers with one scale: value = scale * (integer - zero_point); else 1 */
  int32_t zero_point; /* of integers; else 0 */
} runnel_tensor;

typedef struct runnel_runner runnel_runner;

/* Prepares the only model of a program for whole tensors. `frames`: of the time axis, of models that can be
 * streamed; 0: the length in the file. Errors: INVALID_ARGUMENT (no model or several; frames that the model
 * cannot take), UNSUPPORTED, OUT_OF_MEMORY. *runner is null after a failure. */
runnel_code runnel_open_runner(const runnel_program* program, int64_t frames, runnel_runner** runner);
/* Errors: NOT_FOUND past the last one; *tensor is then unchanged. */
runnel_code runnel_input_of(const runnel_runner* runner, uint32_t index, runnel_tensor* tensor);
runnel_code runnel_output_of(const runnel_runner* runner, uint32_t index, runnel_tensor* tensor);
/* Computes all outputs of the inputs, which stay as they are. */
runnel_code runnel_run(runnel_runner* runner);
/* Null is allowed. */
void runnel_close_runner(runnel_runner* runner);

#ifdef __cplusplus
}
#endif
