/* A QEMU plugin (TCG plugins, version 1) that counts what two cores execute for pushes of samples. Settings
 * are the addresses of functions of the image (firmware/startup/second_core.h):
 *
 *     push_begins=A,push_ends=A,job_handed=A,wait_begins=A,wait_ends=A,part_begins=A,part_ends=A
 *
 * When the image has ended, stderr has "pushes N first N second N path N jobs N": instructions of the first
 * core in pushes without its waits, those of the second core in parts, those of the longest path, in which
 * each job takes as long as the longer of its two parts, and jobs. Instructions, not cycles. It needs
 * -icount, or another run in which both cores are emulated by one thread.
 *
 * No package has the header of QEMU's plugins; the part of its interface that is used is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct translated_block translated_block;
typedef struct emulator_facts emulator_facts;
enum { kCallbackReadsNoRegisters = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
                                           void (*translated)(uint64_t id, translated_block* block));
void qemu_plugin_register_vcpu_tb_exec_cb(translated_block* block,
                                          void (*executed)(unsigned processor, void* user), int registers,
                                          void* user);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*ended)(uint64_t id, void* user), void* user);
size_t qemu_plugin_tb_n_insns(const translated_block* block);
uint64_t qemu_plugin_tb_vaddr(const translated_block* block);

enum { kPushBegins, kPushEnds, kJobHanded, kWaitBegins, kWaitEnds, kPartBegins, kPartEnds, kMarks };
static const char* const kNames[kMarks] = {"push_begins", "push_ends",   "job_handed", "wait_begins",
                                           "wait_ends",   "part_begins", "part_ends"};
static uint64_t addresses[kMarks];

enum { kCores = 2 };
static uint64_t executed[kCores];
static uint64_t push_start, wait_start, waited, job_start, first_part, part_start, second_part;
static uint64_t pushes, first, second, longer, jobs;
static int inside;

static void on_mark(unsigned core, void* user) {
  if (core >= kCores) return;
  switch ((int)(intptr_t)user) {
    case kPushBegins:
      push_start = executed[0];
      waited = 0;
      inside = 1;
      break;
    case kPushEnds:
      if (!inside) break;
      inside = 0;
      ++pushes;
      first += executed[0] - push_start - waited;
      break;
    case kJobHanded:
      job_start = executed[0];
      break;
    case kWaitBegins:
      wait_start = executed[0];
      first_part = wait_start - job_start;
      break;
    case kWaitEnds:
      waited += executed[0] - wait_start;
      if (!inside) break;
      ++jobs;
      second += second_part;
      if (second_part > first_part) longer += second_part - first_part;
      break;
    case kPartBegins:
      part_start = executed[1];
      break;
    default:
      second_part = executed[1] - part_start;
      break;
  }
}

static void on_block(unsigned core, void* user) {
  if (core < kCores) executed[core] += (uint64_t)(uintptr_t)user;
}

/* A call begins a block. The mark comes before the sum. */
static void on_translated(uint64_t id, translated_block* block) {
  const uint64_t address = qemu_plugin_tb_vaddr(block);
  int i;
  (void)id;
  for (i = 0; i < kMarks; ++i) {
    if (address == addresses[i] && address != 0)
      qemu_plugin_register_vcpu_tb_exec_cb(block, on_mark, kCallbackReadsNoRegisters, (void*)(intptr_t)i);
  }
  qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, kCallbackReadsNoRegisters,
                                       (void*)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void on_exit_of_image(uint64_t id, void* user) {
  (void)id;
  (void)user;
  fprintf(stderr,
          "pushes %" PRIu64 " first %" PRIu64 " second %" PRIu64 " path %" PRIu64 " jobs %" PRIu64 "\n",
          pushes, first, second, first + longer, jobs);
}

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const emulator_facts* facts,
                                                               int count, char** words) {
  int i, k;
  (void)facts;
  for (i = 0; i < count; ++i) {
    const char* const value = strchr(words[i], '=');
    for (k = 0; k < kMarks && value != NULL; ++k) {
      const size_t length = strlen(kNames[k]);
      if ((size_t)(value - words[i]) == length && strncmp(words[i], kNames[k], length) == 0) break;
    }
    if (value == NULL || k == kMarks)
      return fprintf(stderr, "count_cores: \"%s\", expected NAME=ADDRESS of a mark\n", words[i]), -1;
    addresses[k] = strtoull(value + 1, NULL, 0);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_exit_of_image, NULL);
  return 0;
}
