#include "in_c.h"

int run_in_c(const runnel_program* program, void* memory, size_t bytes, const int16_t* samples, size_t count,
             int* labels, int room) {
  runnel_options options = {memory, bytes, NULL, 0, NULL, NULL};
  const size_t hop = runnel_facts_of(program).hop;
  runnel_node* node;
  runnel_event event;
  size_t at;
  int found = 0;
  runnel_code code = runnel_prepare(program, &options, &node);
  if (code != RUNNEL_OK) return -(int)code;
  for (at = 0; at < count; at += hop) {
    code = runnel_push_int16(node, samples + at, count - at < hop ? count - at : hop);
    if (code != RUNNEL_OK) return -(int)code;
    while (runnel_poll(node, &event)) {
      if (found < room) labels[found] = event.label_index;
      ++found;
    }
  }
  code = runnel_end(node);
  while (runnel_poll(node, &event)) {
    if (found < room) labels[found] = event.label_index;
    ++found;
  }
  return code == RUNNEL_OK ? found : -(int)code;
}
