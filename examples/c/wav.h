/* Reads recordings for the examples: WAV, 16 bits, mono, 16 kHz. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The samples of a recording, to be freed; null with a message when it has another format. */
static int16_t* read_wav(const char* path, size_t* count) {
  static const unsigned char expected[12] = {1, 0, 1, 0, 0x80, 0x3e, 0, 0, 0, 0x7d, 0, 0};
  unsigned char head[12], chunk[8];
  int right = 0;
  FILE* file = fopen(path, "rb");
  *count = 0;
  if (file == NULL) {
    fprintf(stderr, "%s: cannot be opened\n", path);
    return NULL;
  }
  if (fread(head, 1, sizeof head, file) == sizeof head && memcmp(head + 8, "WAVE", 4) == 0) {
    while (fread(chunk, 1, sizeof chunk, file) == sizeof chunk) {
      const uint32_t size =
          chunk[4] | (uint32_t)chunk[5] << 8 | (uint32_t)chunk[6] << 16 | (uint32_t)chunk[7] << 24;
      if (memcmp(chunk, "fmt ", 4) == 0) {
        unsigned char format[16];
        if (size < sizeof format || fread(format, 1, sizeof format, file) != sizeof format) break;
        right = memcmp(format, expected, sizeof expected) == 0 && format[14] == 16;
        if (fseek(file, (long)(size - sizeof format), SEEK_CUR) != 0) break;
      } else if (memcmp(chunk, "data", 4) == 0 && right) {
        int16_t* samples = malloc(size + 1);
        if (samples != NULL) *count = fread(samples, 1, size, file) / sizeof *samples;
        fclose(file);
        return samples;
      } else if (fseek(file, (long)size, SEEK_CUR) != 0) {
        break;
      }
    }
  }
  fclose(file);
  fprintf(stderr, "%s: expected a WAV file of 16 bits, mono, 16000 Hz\n", path);
  return NULL;
}
