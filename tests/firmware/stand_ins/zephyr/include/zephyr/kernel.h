/* As Zephyr's documentation describes it; only what a sample needs. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#else
#define main zephyr_main /* the start-up code of the board calls it */
#endif

struct k_mem_slab {
  char* memory;
  size_t bytes; /* of a block */
  uint32_t blocks, used;
};
#define K_MEM_SLAB_DEFINE_STATIC(name, size, count, alignment)                     \
  static char __attribute__((aligned(alignment))) name##_memory[(size) * (count)]; \
  static struct k_mem_slab name = {name##_memory, size, count, 0}
void k_mem_slab_free(struct k_mem_slab* slab, void* block);

struct device {
  const char* name;
};
extern const struct device zephyr_stand_in_microphone;
#define DT_NODELABEL(label) DT_N_NODELABEL_##label
#define DT_N_NODELABEL_dmic_dev zephyr_stand_in_microphone
#define DEVICE_DT_GET(node) (&node)
bool device_is_ready(const struct device* one);

#ifdef __cplusplus
}
#endif
