/* The decisions of a model about a recording, as `runnel listen MODEL --wav FILE` prints them. Arguments:
 * MODEL FILE [SETTINGS], the settings of runnel_load_file(), such as "threshold=0.7". */
#include <runnel/runnel.h>

#include "wav.h"

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, runnel_last_failure());
  return 1;
}

int main(int argc, char** argv) {
  enum { BLOCK = 160 }; /* 10 ms, as from a sound card; any other size gives the same decisions */
  char settings[1024];
  size_t count, at;
  runnel_program* program;
  runnel_node* node;
  runnel_event event;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: listen MODEL FILE [SETTINGS]\n");
    return 2;
  }
  int16_t* samples = read_wav(argv[2], &count);
  if (samples == NULL) return 1;
  const char* name = strrchr(argv[2], '/');
  snprintf(settings, sizeof settings, "source='%s' %s", name == NULL ? argv[2] : name + 1,
           argc == 4 ? argv[3] : "");
  if (runnel_load_file(argv[1], settings, &program) != RUNNEL_OK) return fail("loading");
  if (runnel_prepare(program, NULL, &node) != RUNNEL_OK) return fail("preparing");
  fprintf(stderr, "decisions come at most %.3f s after the sound that they are about\n",
          runnel_delay_of(program));
  for (at = 0; at < count; at += BLOCK) {
    if (runnel_push_int16(node, samples + at, count - at < BLOCK ? count - at : BLOCK) != RUNNEL_OK)
      return fail("pushing");
    while (runnel_poll(node, &event)) puts(runnel_line(node));
  }
  if (runnel_end(node) != RUNNEL_OK) return fail("ending");
  while (runnel_poll(node, &event)) puts(runnel_line(node));
  runnel_close(node);
  runnel_release(program);
  free(samples);
  return 0;
}
