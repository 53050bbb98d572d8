/* A plugin of QEMU (TCG plugins, version 1) that counts the instructions that the emulated processor executes: of the whole run, and of each
 * stretch between two functions of the image.
 *
 *     cc -shared -fPIC -O2 count_instructions.c -o count_instructions.so
 *     qemu-system-arm ... -plugin ./count_instructions.so,begin=0x1234,end=0x1240,watch=0x2000
 *
 * begin, end: addresses of two functions that the image calls in turns (arm-none-eabi-nm). watch, any number of times: functions whose calls
 * within stretches are counted. When the image has ended, stderr has "executed N stretches N least N mean N most N watched N", all but the first
 * 0 without the addresses. Counted are instructions, not cycles.
 *
 * The header of QEMU's plugins comes with its sources and is in no package; what is used of its interface is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct translated_block translated_block;
typedef struct emulator_facts emulator_facts;
enum { kCallbackReadsNoRegisters = 0, kAdd = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t id, translated_block* block));
void qemu_plugin_register_vcpu_tb_exec_cb(translated_block* block, void (*executed)(unsigned processor, void* user), int registers, void* user);
void qemu_plugin_register_vcpu_tb_exec_inline(translated_block* block, int operation, void* counter, uint64_t value);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void* user), void* user);
size_t qemu_plugin_tb_n_insns(const translated_block* block);
uint64_t qemu_plugin_tb_vaddr(const translated_block* block);

static uint64_t executed, started, stretches, sum, least = UINT64_MAX, most;
static uint64_t begin_address, end_address;
static int inside;

enum { kMostWatched = 128 };
static uint64_t watched_addresses[kMostWatched], watched;
static int watched_count;

static void on_begin(unsigned processor, void* user) {
  (void)processor;
  (void)user;
  started = executed;
  inside = 1;
}

static void on_end(unsigned processor, void* user) {
  uint64_t length = executed - started;
  (void)processor;
  (void)user;
  if (!inside) return;
  inside = 0;
  ++stretches;
  sum += length;
  if (length < least) least = length;
  if (length > most) most = length;
}

static void on_watched(unsigned processor, void* user) {
  (void)processor;
  (void)user;
  if (inside) ++watched;
}

/* A call begins a block, so that functions are entered at the start of one. The callback comes in front of the sum. */
static void on_translated(uint64_t id, translated_block* block) {
  const uint64_t address = qemu_plugin_tb_vaddr(block);
  int i;
  (void)id;
  if (address == begin_address && begin_address != 0) qemu_plugin_register_vcpu_tb_exec_cb(block, on_begin, kCallbackReadsNoRegisters, NULL);
  if (address == end_address && end_address != 0) qemu_plugin_register_vcpu_tb_exec_cb(block, on_end, kCallbackReadsNoRegisters, NULL);
  for (i = 0; i < watched_count; ++i) {
    if (address == watched_addresses[i]) qemu_plugin_register_vcpu_tb_exec_cb(block, on_watched, kCallbackReadsNoRegisters, NULL);
  }
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, &executed, qemu_plugin_tb_n_insns(block));
}

static void on_exit_of_image(uint64_t id, void* user) {
  (void)id;
  (void)user;
  fprintf(stderr, "executed %" PRIu64 " stretches %" PRIu64 " least %" PRIu64 " mean %" PRIu64 " most %" PRIu64 " watched %" PRIu64 "\n", executed, stretches, stretches > 0 ? least : 0,
          stretches > 0 ? sum / stretches : 0, most, watched);
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const emulator_facts* facts, int count, char** words) {
  int i;
  (void)facts;
  for (i = 0; i < count; ++i) {
    if (strncmp(words[i], "begin=", 6) == 0) begin_address = strtoull(words[i] + 6, NULL, 0);
    else if (strncmp(words[i], "end=", 4) == 0) end_address = strtoull(words[i] + 4, NULL, 0);
    else if (strncmp(words[i], "watch=", 6) == 0 && watched_count < kMostWatched) watched_addresses[watched_count++] = strtoull(words[i] + 6, NULL, 0);
    else return fprintf(stderr, "count_instructions: \"%s\", expected begin=ADDRESS, end=ADDRESS or at most %d times watch=ADDRESS\n", words[i], kMostWatched), -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_exit_of_image, NULL);
  return 0;
}
