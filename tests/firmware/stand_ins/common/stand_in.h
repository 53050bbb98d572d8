/* What the stand-ins of build systems share: a recording of the host as the microphone, and a console. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Up to `count` samples of the recording that the command line names; fewer at its end. */
int stand_in_samples(int16_t* to, int count);
/* %s, %d, %ld, %u and %%. */
int stand_in_printf(const char* format, ...);
/* What the system calls first: app_main(), main(), setup() and loop(). */
void stand_in_main(void);

#ifdef __cplusplus
}
#endif
