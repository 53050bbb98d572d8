/* A sensor's program in C99. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "embed/runnel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs samples through the program in `memory`; labels of up to `room` decisions as indices. The number of
 * decisions, or minus a code. */
int run_in_c(const runnel_program* program, void* memory, size_t bytes, const int16_t* samples, size_t count,
             int* labels, int room);

#ifdef __cplusplus
}
#endif
