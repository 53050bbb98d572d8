/* Writes a recording to standard output: four seconds of bursts of tones, WAV, 16 bits, mono, 16 kHz. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static void number(uint32_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) putchar((int)(value & 255));
}

int main(void) {
  const uint32_t rate = 16000, count = 4 * 16000;
  uint32_t i;
  fputs("RIFF", stdout);
  number(36 + 2 * count, 4);
  fputs("WAVEfmt ", stdout);
  number(16, 4);
  number(1, 2);
  number(1, 2);
  number(rate, 4);
  number(2 * rate, 4);
  number(2, 2);
  number(16, 2);
  fputs("data", stdout);
  number(2 * count, 4);
  for (i = 0; i < count; ++i) {
    const double second = i / (double)rate, pitch = 200 + 170 * (int)(second * 2.5);
    const double loud = second * 2.5 - (int)(second * 2.5) < 0.6 ? 9000 : 20;
    number((uint32_t)(int32_t)lrint(loud * sin(6.283185307179586 * pitch * second) +
                                    loud * 0.4 * sin(6.283185307179586 * 2.7 * pitch * second)) &
               0xffff,
           2);
  }
  return 0;
}
