/* Many streams of one model: two nodes hear the same recording, the first one is saved in the middle, goes on
 * as another node, and as a clone; all must say the same. Arguments: MODEL FILE [SETTINGS]. Prints the
 * decisions and how often each was made. */
#include <runnel/runnel.h>

#include "wav.h"

enum { NODES = 4, MOST = 256 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, runnel_last_failure());
  return 1;
}

/* Appends what waits. */
static void fetch(runnel_node* node, runnel_event* events, int* count) {
  while (*count < MOST && runnel_poll(node, &events[*count])) ++*count;
}

int main(int argc, char** argv) {
  runnel_program* program;
  runnel_node* nodes[NODES] = {NULL, NULL, NULL, NULL};
  static runnel_event events[NODES][MOST];
  int counts[NODES] = {0, 0, 0, 0}, i, k;
  size_t count, half, bytes;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: sessions MODEL FILE [SETTINGS]\n");
    return 2;
  }
  int16_t* samples = read_wav(argv[2], &count);
  if (samples == NULL) return 1;
  if (runnel_load_file(argv[1], argc == 4 ? argv[3] : NULL, &program) != RUNNEL_OK) return fail("loading");
  half = count / 2;
  for (i = 0; i < 3; ++i)
    if (runnel_prepare(program, NULL, &nodes[i]) != RUNNEL_OK) return fail("preparing");
  runnel_release(program); /* the nodes keep it */
  for (i = 0; i < 2; ++i) {
    if (runnel_push_int16(nodes[i], samples, half) != RUNNEL_OK) return fail("pushing");
    fetch(nodes[i], events[i], &counts[i]);
  }
  bytes = runnel_saved_bytes(nodes[0]);
  void* saved = malloc(bytes);
  if (bytes == 0 || saved == NULL || runnel_save(nodes[0], saved, bytes) != RUNNEL_OK) return fail("saving");
  if (runnel_restore(nodes[2], saved, bytes) != RUNNEL_OK) return fail("restoring");
  if (runnel_clone(nodes[0], &nodes[3]) != RUNNEL_OK) return fail("cloning");
  free(saved);
  for (i = 2; i < NODES; ++i) {
    memcpy(events[i], events[0], sizeof events[0]);
    counts[i] = counts[0];
  }
  for (i = 0; i < NODES; ++i) {
    if (runnel_push_int16(nodes[i], samples + half, count - half) != RUNNEL_OK) return fail("pushing");
    if (runnel_end(nodes[i]) != RUNNEL_OK) return fail("ending");
    fetch(nodes[i], events[i], &counts[i]);
  }
  for (k = 0; k < counts[0]; ++k) {
    int equal = 0;
    for (i = 0; i < NODES; ++i)
      equal += k < counts[i] && strcmp(events[i][k].label, events[0][k].label) == 0 &&
               events[i][k].score == events[0][k].score && events[i][k].begin == events[0][k].begin &&
               events[i][k].end == events[0][k].end && events[i][k].frame == events[0][k].frame;
    printf("%s %.4f %d of %d\n", events[0][k].label, events[0][k].score, equal, NODES);
  }
  for (i = 0; i < NODES; ++i) {
    if (counts[i] != counts[0]) printf("node %d made %d decisions, expected %d\n", i, counts[i], counts[0]);
    runnel_close(nodes[i]);
  }
  free(samples);
  return 0;
}
