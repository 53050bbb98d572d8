/* A QEMU plugin (TCG plugins, version 1) that counts the instructions that the emulated processor executes:
 * in the whole run, and in each stretch between two functions of the image.
 *
 *     cc -shared -fPIC -O2 count_instructions.c -o count_instructions.so
 *     qemu-system-arm ... -plugin ./count_instructions.so,begin=0x1234,end=0x1240,watch=0x2000
 *
 * begin, end: addresses of two functions that the image calls alternately (arm-none-eabi-nm). watch, any
 * number of times: functions whose calls within stretches are counted, and with them arithmetic instructions
 * in double precision, which larger processors have. When the image has ended, stderr has "executed N
 * stretches N least N mean N most N watched N", all but the first 0 without the addresses. It counts
 * instructions, not cycles.
 *
 * No package has the header of QEMU's plugins; the part of its interface that is used is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct translated_block translated_block;
typedef struct emulated_instruction emulated_instruction;
typedef struct emulator_facts emulator_facts;
enum { kCallbackReadsNoRegisters = 0, kAdd = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*translated)(uint64_t id, translated_block* block));
void qemu_plugin_register_vcpu_tb_exec_cb(translated_block* block,
                                          void (*executed)(unsigned processor, void* user), int registers,
                                          void* user);
void qemu_plugin_register_vcpu_tb_exec_inline(translated_block* block, int operation, void* counter,
                                              uint64_t value);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void* user), void* user);
size_t qemu_plugin_tb_n_insns(const translated_block* block);
uint64_t qemu_plugin_tb_vaddr(const translated_block* block);
emulated_instruction* qemu_plugin_tb_get_insn(const translated_block* block, size_t index);
const void* qemu_plugin_insn_data(const emulated_instruction* instruction);
size_t qemu_plugin_insn_size(const emulated_instruction* instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(emulated_instruction* instruction,
                                            void (*executed)(unsigned processor, void* user), int registers,
                                            void* user);

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

/* Data processing of the floating-point unit on doubles (Arm v7-M, A6.4): 111x1110 in front, 1011 for the
 * size, no transfer of registers. Moves of a register or a constant are no arithmetic. */
static int is_double_arithmetic(const emulated_instruction* instruction) {
  const unsigned char* code = qemu_plugin_insn_data(instruction);
  unsigned first, second;
  if (qemu_plugin_insn_size(instruction) != 4) return 0;
  first = code[0] | (unsigned)code[1] << 8;
  second = code[2] | (unsigned)code[3] << 8;
  if ((first & 0xEF00) != 0xEE00 || (second & 0x0F10) != 0x0B00) return 0;
  return (first & 0xFFB0) != 0xEEB0 || ((second & 0x40) != 0 && ((first & 0xF) != 0 || (second & 0x80) != 0));
}

/* A call begins a block, so that functions are entered at the start of one. The callback comes before
 * the sum. */
static void on_translated(uint64_t id, translated_block* block) {
  const uint64_t address = qemu_plugin_tb_vaddr(block);
  const size_t count = qemu_plugin_tb_n_insns(block);
  size_t k;
  int i;
  (void)id;
  if (address == begin_address && begin_address != 0)
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_begin, kCallbackReadsNoRegisters, NULL);
  if (address == end_address && end_address != 0)
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_end, kCallbackReadsNoRegisters, NULL);
  for (i = 0; i < watched_count; ++i) {
    if (address == watched_addresses[i])
      qemu_plugin_register_vcpu_tb_exec_cb(block, on_watched, kCallbackReadsNoRegisters, NULL);
  }
  for (k = 0; k < count; ++k) {
    emulated_instruction* instruction = qemu_plugin_tb_get_insn(block, k);
    if (is_double_arithmetic(instruction))
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_watched, kCallbackReadsNoRegisters, NULL);
  }
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, &executed, count);
}

static void on_exit_of_image(uint64_t id, void* user) {
  (void)id;
  (void)user;
  fprintf(stderr,
          "executed %" PRIu64 " stretches %" PRIu64 " least %" PRIu64 " mean %" PRIu64 " most %" PRIu64
          " watched %" PRIu64 "\n",
          executed, stretches, stretches > 0 ? least : 0, stretches > 0 ? sum / stretches : 0, most, watched);
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const emulator_facts* facts,
                                                               int count, char** words) {
  int i;
  (void)facts;
  for (i = 0; i < count; ++i) {
    if (strncmp(words[i], "begin=", 6) == 0)
      begin_address = strtoull(words[i] + 6, NULL, 0);
    else if (strncmp(words[i], "end=", 4) == 0)
      end_address = strtoull(words[i] + 4, NULL, 0);
    else if (strncmp(words[i], "watch=", 6) == 0 && watched_count < kMostWatched)
      watched_addresses[watched_count++] = strtoull(words[i] + 6, NULL, 0);
    else
      return fprintf(stderr,
                     "count_instructions: \"%s\", expected begin=ADDRESS, end=ADDRESS or at most %d times "
                     "watch=ADDRESS\n",
                     words[i], kMostWatched),
             -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_exit_of_image, NULL);
  return 0;
}
