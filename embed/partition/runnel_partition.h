/* A model apart from the program: it lies in a partition of flash or on a card, as an image that
 * `runnel embed --model-partition` or `runnel image make` wrote, and can be replaced without the program
 * (docs/model-slots.md).
 *
 *     // Written by runnel embed --model-partition: runnel_digits is a profile, without a model.
 *     #include "digits.h"
 *     static RUNNEL_ALIGNED unsigned char memory[RUNNEL_DIGITS_MEMORY_BYTES];
 *     runnel_partition partition = {.address = (const void*)0x08080000, .bytes = 0x20000};
 *     runnel_options options = {memory, sizeof memory};
 *     if (runnel_prepare_partition(&runnel_digits, &partition, &options, &node) != RUNNEL_OK)
 *       puts(runnel_last_failure());
 *
 * Everything else is done with the functions of runnel.h. Rules of threads and failures are those there. */
#pragma once

#include "embed/runnel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Graph, operators and sizes of a program that takes its model from a partition: what several models share.
 * Constant and in ROM. */
typedef struct runnel_profile runnel_profile;

/* Callbacks of memory return 0 when it is done, a negative number when it failed, and a positive one when it
 * is not done yet: they are then called again with the same arguments, at most RUNNEL_BUSY_CALLS times. A
 * callback that does not return is a case for the watchdog: a restart at any time is safe. */
#define RUNNEL_BUSY_CALLS 1000000

/* Reads `bytes` bytes from place `at`. */
typedef int (*runnel_read_function)(void* user, uint32_t at, void* to, uint32_t bytes);

/* Decrypts `bytes` bytes in place with AES-128-GCM and the application's key. `associated` is 32 bytes that
 * the tag covers as well. Returns 0 only if the tag fits. */
typedef int (*runnel_decrypt_function)(void* user, const uint8_t nonce[12], const uint8_t associated[32],
                                       void* data, size_t bytes, const uint8_t tag[16]);

typedef struct runnel_partition {
  /* The start of the image in mapped memory, a multiple of 16; it is used in place and must stay while a node
   * uses it. Null: the image is read by `read`, from place `start` on, into memory. */
  const void* address;
  uint32_t bytes; /* of the partition; the image may be shorter */
  runnel_read_function read;
  uint32_t start;
  void* user; /* of `read` and `decrypt` */
  /* Null: encrypted models are refused. They are decrypted in memory, also when they are mapped. */
  runnel_decrypt_function decrypt;
  /* Memory for a model that cannot be used in place: at least its length, from a multiple of
   * RUNNEL_ALIGNMENT, owned by the caller; it must outlive the node. Null: it is taken from the options'
   * memory, which needs as much more. */
  void* copy;
  size_t copy_bytes;
} runnel_partition;

typedef struct runnel_image_facts {
  char name[32];
  uint32_t version;
  uint32_t model_bytes;
  uint32_t memory_bytes, fast_bytes; /* that preparing takes at most, without a copy of the model */
  int is_signed;
  int encrypted;
} runnel_image_facts;

/* What the partition has, from its header alone. Errors: INVALID_DATA, UNSUPPORTED, IO_ERROR. */
runnel_code runnel_image_facts_of(const runnel_partition* partition, runnel_image_facts* out);

/* As runnel_prepare(), with the model of the partition. Further errors: INVALID_DATA for a partition that is
 * erased, foreign, truncated or damaged, or does not decrypt; MISMATCH for a model of another profile;
 * OUT_OF_MEMORY for one that needs more memory than the profile has, with both numbers; UNSUPPORTED for one
 * with operators that the profile has not, with their names, and for an encrypted one without `decrypt`;
 * IO_ERROR when `read` fails or does not end; MISALIGNED. Checksums are compared, not signatures: that is for
 * what installs an image (runnel_slots.h). */
runnel_code runnel_prepare_partition(const runnel_profile* profile, const runnel_partition* partition,
                                     const runnel_options* options, runnel_node** node);

/* The program that a node runs, with the labels and sizes of its model, for runnel_facts_of() and
 * runnel_label(). As long-lived as the node. */
const runnel_program* runnel_program_of(const runnel_node* node);

#ifdef __cplusplus
}
#endif
