/* Ethos-U for programs of runnel.h: what a board has to provide, and nothing else.
 *
 *     static runnel_npu npu;
 *     const runnel_npu_port port = {.registers = (volatile uint32_t*)0x48102000};
 *     void ethos_u_interrupt(void) { runnel_npu_interrupt(&npu); }
 *
 *     if (runnel_npu_add(&npu, &port) != RUNNEL_OK) puts(runnel_last_failure());
 *     runnel_prepare(&runnel_digits, &options, &node);       // the model's segments run on it from here on
 *
 * Segments read and write the tensors of the other operators in place. A run that fails (a bus error, a
 * stream that the device does not know, no answer in time) resets the device; the push, end or take that
 * caused it returns a failure with the device's report, and the outputs of that run are zeros. Without a
 * device that fits, runnel_prepare() fails with RUNNEL_NOT_FOUND or RUNNEL_MISMATCH: an application that must
 * run anyway embeds the model for the CPU beside this one and prepares that program instead; the results are
 * the same bits. */
#pragma once

#include "embed/runnel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the board does. Null functions have the meaning that is stated; `user` is their argument. */
typedef struct runnel_npu_port {
  volatile uint32_t* registers; /* of the device, memory-mapped; may be null with `read` and `write` */
  uint32_t (*read)(void* user, uint32_t offset);              /* null: registers[offset / 4] */
  void (*write)(void* user, uint32_t offset, uint32_t value); /* null: the same */
  /* Sleeps until runnel_npu_interrupt() was called for this device; 0 when that takes too long. Null: the
   * status is polled, at most `polls` times (0: 100 million), and no interrupt is needed. */
  int (*wait)(void* user);
  uint32_t polls;
  /* Data cache: memory that the processor wrote, and memory that the device wrote. Null: no cache, or one
   * that the device sees through. */
  void (*flush)(void* user, const void* memory, size_t bytes);
  void (*invalidate)(void* user, const void* memory, size_t bytes);
  /* The device's address of memory. Null: the processor's. */
  uint64_t (*address)(void* user, const void* memory);
  /* Clock and power of the device, before it is used and after. Null: always on. */
  void (*power)(void* user, int on);
  int secure;       /* runs with secure addresses */
  int unprivileged; /* runs without privileges */
  int sleeps;       /* 1: `power` goes off between runs, each of which begins with a reset */
  int mac_ramp;     /* Ethos-U85: 0 to 63, how slowly the multipliers are switched on */
  /* Eight numbers: through which port the device reaches constants, scratch memory, fast scratch memory and
   * the tensors of the CPU. 0, 1: the first, to SRAM; 2, 3: the second. Null: constants through the second.
   */
  const uint8_t* region_ports;
  void* user;
} runnel_npu_port;

/* A device; lives as long as the program, static. */
#define RUNNEL_NPU_WORDS 96
typedef struct runnel_npu {
  uint64_t words[RUNNEL_NPU_WORDS];
} runnel_npu;

/* Resets and identifies the device, and gives it to all programs. Call once for each device, before
 * runnel_prepare(). Errors: INVALID_ARGUMENT; UNSUPPORTED for a product that is not known; INVALID_DATA when
 * the reset does not end, or the security state is refused. */
runnel_code runnel_npu_add(runnel_npu* npu, const runnel_npu_port* port);
/* Call from the device's interrupt. */
void runnel_npu_interrupt(runnel_npu* npu);
/* "ethos-u55-128"; null before runnel_npu_add() or after a failure that a reset does not cure. */
const char* runnel_npu_name(const runnel_npu* npu);

#ifdef __cplusplus
}
#endif
