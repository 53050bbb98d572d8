/* Replacing a model in a running device: two slots of flash with an image each (A and B), and a small journal
 * that says which of them runs. An update is written beside the running model, checked, tried, and confirmed;
 * one that is not confirmed is taken back at the next start (docs/model-slots.md).
 *
 *     static runnel_slots slots;
 *     runnel_slots_open(&slots, &settings, &runnel_digits);
 *     runnel_slots_start(&slots, &options, &node);           // the model that is to run
 *     ...
 *     runnel_slots_begin(&slots);                            // an update arrives, between pushes
 *     while (receive(piece, &count)) runnel_slots_write(&slots, piece, count);
 *     if (runnel_slots_finish(&slots) == RUNNEL_OK)          // all of it is there and right
 *       runnel_slots_start(&slots, &options, &node);         // tries it, in the same memory
 *     ...
 *     runnel_slots_confirm(&slots);                          // it works: keep it
 *
 * The power may go away at any time, also inside of a callback: the next start has the old model or the new
 * one, whole. An update that was cut begins anew. One thread; no callback calls these functions. */
#pragma once

#include "embed/partition/runnel_partition.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flash, or memory like it: erasing sets all bits of a block, programming only clears bits. Places are those
 * of the application's own numbering. Answers of callbacks: runnel_partition.h. */
typedef struct runnel_flash {
  runnel_read_function read;
  /* Erases the block of `erase_bytes` bytes that starts at `at`. */
  int (*erase)(void* user, uint32_t at);
  /* Programs memory that is erased: `bytes` is a multiple of program_bytes and at most 256, `at` as well a
   * multiple. No byte is programmed twice between two erasures. */
  int (*program)(void* user, uint32_t at, const void* from, uint32_t bytes);
  void* user;
  uint32_t erase_bytes;   /* a multiple of program_bytes, at least 256 */
  uint32_t program_bytes; /* 1, 2, 4, ... 256 */
  /* Where place 0 can be read as memory, a multiple of 16; null: it cannot, models are copied to memory. */
  const void* mapped;
} runnel_flash;

/* Returns 1 if `signature` is that of the message by the holder of the key, 0 if not; an Ed25519 of any
 * library. */
typedef int (*runnel_verify_function)(void* user, const uint8_t* message, size_t bytes,
                                      const uint8_t signature[64]);

typedef struct runnel_slots_settings {
  runnel_flash flash;
  uint32_t journal;    /* place of two erase blocks */
  uint32_t slot[2];    /* places of the slots, which start with erase blocks */
  uint32_t slot_bytes; /* of each, a multiple of erase_bytes */
  /* Null: images are taken with and without a signature, which is not looked at. */
  runnel_verify_function verify;
  void* verify_user;
  /* Starts of an image that is not confirmed, before it is taken back; 0: one. */
  uint32_t trial_starts;
  /* Images with a lower version are refused. */
  uint32_t least_version;
  /* Not 0: older versions than the confirmed one are taken, too. */
  int allow_older;
  /* Not 0: digest and signature are checked at every start, not only when an image is installed. */
  int check_at_start;
  runnel_decrypt_function decrypt; /* as of a partition, with flash.user */
  void* copy;                      /* the same, for flash that is not mapped, or encrypted models */
  size_t copy_bytes;
} runnel_slots_settings;

/* Opaque; owned by the caller, as long as it is used. */
typedef struct runnel_slots {
  uint64_t opaque[136];
} runnel_slots;

typedef enum runnel_trial {
  RUNNEL_NO_TRIAL = 0,
  RUNNEL_TRIAL_READY = 1, /* installed; the next runnel_slots_start() tries it */
  RUNNEL_TRIAL_RUNS = 2,  /* started, not confirmed */
  RUNNEL_TRIAL_FAILED =
      3 /* taken back since runnel_slots_open(): its starts are used up, or it does not prepare */
} runnel_trial;

typedef struct runnel_slots_state {
  int running;   /* slot of the node that was started last; -1: none */
  int confirmed; /* slot that runs without a trial; -1: none */
  runnel_trial trial;
  uint32_t running_version; /* 0: none */
  uint32_t least_version;   /* that an update needs */
  uint32_t received;        /* bytes of an update so far */
} runnel_slots_state;

/* Reads the journal. An empty one is written anew from what the slots hold: the whole image of the highest
 * version, as a factory programs it. Writes nothing else. Errors: INVALID_ARGUMENT for sizes and places that
 * make no sense; IO_ERROR; NOT_FOUND where no slot has a model, and then updates can still be written.
 * `profile` and what the settings point to must outlive `slots`. */
runnel_code runnel_slots_open(runnel_slots* slots, const runnel_slots_settings* settings,
                              const runnel_profile* profile);

/* Prepares the model that is to run: that on trial, else the confirmed one. An older node in the same memory
 * ends. A trial that cannot be prepared or whose starts are used up is taken back, and the confirmed model
 * runs; one that is damaged is replaced by the other slot's, if that was confirmed before. Success means that
 * a model runs: runnel_slots_state_of() says which, runnel_last_failure() why it is not another. Errors: of
 * runnel_prepare_partition() for the last model that was tried; NOT_FOUND; IO_ERROR of the journal. */
runnel_code runnel_slots_start(runnel_slots* slots, const runnel_options* options, runnel_node** node);

/* An update begins; bytes that were written of an earlier one are forgotten. Nothing is erased before the
 * header of the image is there and fits. Error: INVALID_ARGUMENT while an image is on trial. */
runnel_code runnel_slots_begin(runnel_slots* slots);
/* The next bytes of the image, of any number. Errors: those of the header (INVALID_DATA, UNSUPPORTED,
 * MISMATCH for another profile or too low a version, OUT_OF_MEMORY; INVALID_DATA for a missing or wrong
 * signature); INVALID_DATA for more bytes than the header says; IO_ERROR. After an error the update is over.
 */
runnel_code runnel_slots_write(runnel_slots* slots, const void* bytes, size_t count);
/* Reads back what was written and compares its digest; then the image is on trial. Errors: INVALID_DATA for
 * missing or damaged bytes; IO_ERROR. */
runnel_code runnel_slots_finish(runnel_slots* slots);

/* The model on trial runs well: it stays. Error: INVALID_ARGUMENT without a trial that runs; IO_ERROR. */
runnel_code runnel_slots_confirm(runnel_slots* slots);
/* Takes a trial back; the confirmed model runs after the next runnel_slots_start(). Error: INVALID_ARGUMENT
 * without a trial or without a confirmed model; IO_ERROR. */
runnel_code runnel_slots_rollback(runnel_slots* slots);

runnel_slots_state runnel_slots_state_of(const runnel_slots* slots);

#ifdef __cplusplus
}
#endif
