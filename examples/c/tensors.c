/* A model over whole tensors: prints its inputs and outputs, and the first values of its outputs for inputs
 * of zeros. Argument: MODEL. */
#include <runnel/runnel.h>
#include <stdio.h>
#include <string.h>

static double value_of(const runnel_tensor* tensor, size_t index) {
  switch (tensor->type) {
    case RUNNEL_FLOAT32:
      return ((const float*)tensor->data)[index];
    case RUNNEL_INT8:
      return tensor->scale * (((const int8_t*)tensor->data)[index] - tensor->zero_point);
    case RUNNEL_INT16:
      return tensor->scale * (((const int16_t*)tensor->data)[index] - tensor->zero_point);
    default:
      return 0;
  }
}

static void show(const char* what, const runnel_tensor* tensor) {
  int32_t i;
  printf("%s %s [", what, tensor->name);
  for (i = 0; i < tensor->rank; ++i) printf("%s%d", i == 0 ? "" : ",", (int)tensor->dims[i]);
  printf("]");
}

int main(int argc, char** argv) {
  runnel_program* program;
  runnel_runner* runner;
  runnel_tensor tensor;
  uint32_t i;
  if (argc != 2) {
    fprintf(stderr, "usage: tensors MODEL\n");
    return 2;
  }
  if (runnel_load_file(argv[1], NULL, &program) != RUNNEL_OK ||
      runnel_open_runner(program, 0, &runner) != RUNNEL_OK) {
    fprintf(stderr, "%s\n", runnel_last_failure());
    return 1;
  }
  for (i = 0; runnel_input_of(runner, i, &tensor) == RUNNEL_OK; ++i) {
    memset(tensor.data, 0, tensor.bytes);
    show("input", &tensor);
    printf("\n");
  }
  if (runnel_run(runner) != RUNNEL_OK) {
    fprintf(stderr, "%s\n", runnel_last_failure());
    return 1;
  }
  for (i = 0; runnel_output_of(runner, i, &tensor) == RUNNEL_OK; ++i) {
    show("output", &tensor);
    printf(" begins with %.6f\n", value_of(&tensor, 0));
  }
  runnel_close_runner(runner);
  runnel_release(program);
  return 0;
}
