// Updates itself from the second of two images that are linked into it, with the power going away at a step:
// the processor is reset, memory that stands for flash stays. Each start checks that the node has the old
// model or the new one, whole, and finishes the update; then the next try begins anew. Command line:
//     PROGRAM [tries=N]
// The first tries cut at every step of the update, the others at random ones; what a cut leaves of its step
// changes from try to try. Ends with 0 after the last try, and prints their number and what came up.
// With RUNNEL_SECRETS the images are signed, the second is encrypted, and before the tries every wrong update
// is refused (bad_updates.h).
#include <cstring>

#include "apart.h"
#include "base/crc32c.h"
#include "firmware/feature_runner.h"
#include "firmware/print_line.h"
#include "firmware/slots/simulated_flash.h"
#include "firmware/startup/image.h"
#ifdef RUNNEL_SECRETS
#include "firmware/slots/crypto/secrets.h"
#include "slots_keys.h"
#endif

extern "C" {
extern std::uint32_t __bss_end;  // from the linker script
void __stack_top();              // only an address
extern const std::byte image_of_old[], end_of_old[], image_of_new[], end_of_new[];
}

// The images that `runnel embed` wrote, as flash would have them.
__asm(
    ".section .rodata.images, \"a\"\n"
    ".globl image_of_old, end_of_old, image_of_new, end_of_new\n"
    ".balign 16\n"
    "image_of_old: .incbin \"" RUNNEL_OLD_IMAGE
    "\"\n"
    "end_of_old:\n"
    ".balign 16\n"
    "image_of_new: .incbin \"" RUNNEL_NEW_IMAGE
    "\"\n"
    "end_of_new:\n"
    ".text\n");
#ifdef RUNNEL_SECRETS
extern "C" {
extern const std::byte image_of_plain[], end_of_plain[], image_of_unsigned[], end_of_unsigned[],
    image_of_foreign[], end_of_foreign[], image_of_ancient[], end_of_ancient[];
}
// The second model not encrypted; not signed; signed by another key; the header of a signed one
// of version 0, which is enough to refuse it.
__asm(
    ".section .rodata.images, \"a\"\n"
    ".globl image_of_plain, end_of_plain, image_of_unsigned, end_of_unsigned, image_of_foreign, "
    "end_of_foreign, image_of_ancient, end_of_ancient\n"
    ".balign 16\n"
    "image_of_plain: .incbin \"" RUNNEL_PLAIN_IMAGE
    "\"\n"
    "end_of_plain:\n"
    ".balign 16\n"
    "image_of_unsigned: .incbin \"" RUNNEL_UNSIGNED_IMAGE
    "\"\n"
    "end_of_unsigned:\n"
    ".balign 16\n"
    "image_of_foreign: .incbin \"" RUNNEL_FOREIGN_IMAGE
    "\"\n"
    "end_of_foreign:\n"
    ".balign 16\n"
    "image_of_ancient: .incbin \"" RUNNEL_ANCIENT_IMAGE
    "\", 0, 256\n"
    "end_of_ancient:\n"
    ".text\n");
#endif

namespace {

using namespace runnel;
using namespace runnel::firmware;

constexpr std::uint32_t kBlock = 4096, kSlot = 9 * kBlock, kFlash = 2 * kBlock + 2 * kSlot;

// What stays when the processor is reset: between the program's data and the stack, where no file is loaded.
struct Kept {
  static constexpr std::uint32_t kMagic = 0x4B455054;
  std::uint32_t magic, tries, all_tries, steps, random, boots, came_up_old, came_up_new;
  std::uint32_t cut_now;         // the reset is a cut
  std::uint32_t of_old, of_new;  // checksums of what the models give
  std::uint32_t refused;         // wrong updates
};
std::uintptr_t kept_at() noexcept {
  return (reinterpret_cast<std::uintptr_t>(&__bss_end) + 2 * kBlock - 1) / kBlock * kBlock;
}
Kept& kept() noexcept { return *reinterpret_cast<Kept*>(kept_at()); }
std::span<std::byte> flash_bytes() noexcept {
  return {reinterpret_cast<std::byte*>(kept_at() + kBlock), kFlash};
}

[[noreturn]] void reset() noexcept {
#if defined(__riscv)
  *reinterpret_cast<volatile std::uint32_t*>(0x100000) = 0x7777;  // QEMU's test device
#else
  *reinterpret_cast<volatile std::uint32_t*>(0xE000ED0C) = 0x05FA0004;  // AIRCR.SYSRESETREQ
  __asm volatile("dsb" ::: "memory");
#endif
  for (;;) {
  }
}
void power_off() noexcept {
  kept().cut_now = 1;
  reset();
}

alignas(RUNNEL_ALIGNMENT) unsigned char memory[RUNNEL_APART_MEMORY_BYTES + RUNNEL_OBSERVE_BYTES];
SimulatedFlash flash;
runnel_slots slots;
runnel_node* node = nullptr;
std::uint32_t output = 0;

void observe(void*, runnel_stage stage, const void* frames, std::size_t count, std::size_t frame_bytes,
             std::int64_t) noexcept {
  if (stage == RUNNEL_OUTPUT)
    output = crc32c({static_cast<const std::byte*>(frames), count * frame_bytes}, output);
}

[[noreturn]] void failed(const char* what) noexcept {
  print_line("FAILED in try ", kept().tries, ", boot ", kept().boots, ": ", what, ": ",
             runnel_last_failure());
  end(1);
}

void factory() noexcept {
  const std::span<std::byte> bytes = flash_bytes();
  std::memset(bytes.data(), 0xFF, bytes.size());
  std::memcpy(bytes.data() + 2 * kBlock, image_of_old, static_cast<std::size_t>(end_of_old - image_of_old));
}

void power_on() noexcept {
  flash.bytes = flash_bytes();
  flash.erase_bytes = kBlock;
  flash.program_bytes = 8;
  flash.power_off = power_off;
  flash.steps = flash.cut_at = 0;
}

void start() noexcept {
  const runnel_options options = {memory, sizeof memory, nullptr, 0, observe, nullptr};
  if (runnel_slots_start(&slots, &options, &node) != RUNNEL_OK) failed("start");
}
runnel_slots_settings settings_of_board() noexcept {
  runnel_slots_settings settings = {};
  settings.flash = flash.callbacks(true);
  settings.slot[0] = 2 * kBlock;
  settings.slot[1] = settings.slot[0] + kSlot;
  settings.slot_bytes = kSlot;
#ifdef RUNNEL_SECRETS
  // Encrypted models are decrypted there.
  alignas(RUNNEL_ALIGNMENT) static unsigned char copy[kSlot];
  settings.verify = verify_ed25519;
  settings.verify_user = const_cast<std::uint8_t*>(kMakersKey);
  settings.check_at_start = 1;
  settings.decrypt = [](void*, const std::uint8_t nonce[12], const std::uint8_t associated[32], void* data,
                        std::size_t bytes, const std::uint8_t tag[16]) {
    return decrypt_gcm(kSecret, nonce, associated, data, bytes, tag);
  };
  settings.copy = copy;
  settings.copy_bytes = sizeof copy;
#endif
  return settings;
}
void open() noexcept {
  const runnel_slots_settings settings = settings_of_board();
  if (runnel_slots_open(&slots, &settings, &runnel_apart) != RUNNEL_OK) failed("open");
  start();
}

// A checksum of what the node makes of a sound.
std::uint32_t answer() noexcept {
  runnel_reset(node);
  static std::int16_t samples[RUNNEL_APART_HOP];
  output = 0;
  for (std::uint32_t hop = 0, i = 0; hop < 4; ++hop) {
    for (std::int16_t& one : samples)
      one = static_cast<std::int16_t>(static_cast<int>(i++ * 7919 % 6000) - 3000);
    if (runnel_push_int16(node, samples, RUNNEL_APART_HOP) != RUNNEL_OK) failed("push");
  }
  if (runnel_end(node) != RUNNEL_OK) failed("end");
  return output;
}

std::uint32_t version() noexcept { return runnel_slots_state_of(&slots).running_version; }

// Writes an image beside the running one, up to the first failure.
runnel_code receive(const std::byte* at, const std::byte* end) noexcept {
  runnel_code code = runnel_slots_begin(&slots);
  for (; code == RUNNEL_OK && at < end; at += 500) {
    const auto left = static_cast<std::size_t>(end - at);
    code = runnel_slots_write(&slots, at, left < 500 ? left : 500);
  }
  return code == RUNNEL_OK ? runnel_slots_finish(&slots) : code;
}

// To the confirmed second model, from any state.
void update() noexcept {
  if (version() == 1) {
    if (receive(image_of_new, end_of_new) != RUNNEL_OK) failed("receive");
    start();
  }
  if (version() != 2) failed("the new model does not run");
  if (runnel_slots_state_of(&slots).trial == RUNNEL_TRIAL_RUNS && runnel_slots_confirm(&slots) != RUNNEL_OK)
    failed("confirm");
}

#ifdef RUNNEL_SECRETS
#include "firmware/slots/bad_updates.h"
#endif

// The measure of everything: an update without a cut.
void first_boot(std::uint32_t all_tries) noexcept {
  Kept& k = kept();
  k = {};
  k.magic = Kept::kMagic;
  k.random = 1;
  factory();
  power_on();
  open();
  k.of_old = answer();
#ifdef RUNNEL_SECRETS
  k.refused = refuse_bad_updates();
  factory();
  power_on();
  open();
#endif
  update();
  k.of_new = answer();
  k.steps = flash.steps;
  k.all_tries = all_tries > k.steps ? all_tries : k.steps;
  if (k.of_old == k.of_new || flash.violations != 0) failed("the models cannot be told apart");
}

// What a boot after a cut finds.
void check() noexcept {
  Kept& k = kept();
  power_on();
  open();
  const std::uint32_t now = version();
  if ((now != 1 && now != 2) || answer() != (now == 1 ? k.of_old : k.of_new))
    failed("neither model is whole");
  (now == 1 ? k.came_up_old : k.came_up_new) += 1;
  update();
  if (answer() != k.of_new || flash.violations != 0) failed("the update cannot be finished");
}

std::uint32_t number_of_tries() noexcept {
  static Arguments arguments;
  arguments.count = command_line(arguments.text, arguments.words);
  std::uint32_t tries = 0;
  if (arguments.count > 1 && std::strncmp(arguments.words[1], "tries=", 6) == 0) {
    for (const char* digit = arguments.words[1] + 6; *digit != '\0'; ++digit)
      tries = tries * 10 + static_cast<std::uint32_t>(*digit - '0');
  }
  return tries;
}

}  // namespace

int runnel::firmware::image_main() noexcept {
  if (kept_at() + kBlock + kFlash + 16384 > reinterpret_cast<std::uintptr_t>(&__stack_top))
    return fail("no room for flash between data and stack");
  Kept& k = kept();
  if (k.magic != Kept::kMagic) {
    first_boot(number_of_tries());
  } else {
    ++k.boots;
    if (k.cut_now != 1) failed("a reset that is no cut");
    k.cut_now = 0;
    check();
    ++k.tries;
  }
  if (k.tries == k.all_tries) {
    print_line("tries ", k.tries, " steps ", k.steps, " boots ", k.boots, " old ", k.came_up_old, " new ",
               k.came_up_new, " answer_old ", k.of_old, " answer_new ", k.of_new, " refused ", k.refused);
    return 0;
  }
  factory();
  power_on();
  k.random = k.random * 1664525U + 1013904223U;
  flash.random = k.random | 1U;
  // Every step once, with every kind of cut in turn; every kind at the last steps, where the models change
  // places; then random ones.
  constexpr std::uint32_t kLast = 8;
  const std::uint32_t after = k.tries - k.steps;
  flash.cut = static_cast<Cut>(k.tries % kCuts);
  if (k.tries < k.steps)
    flash.cut_at = k.tries + 1;
  else if (after < kLast * kCuts)
    flash.cut_at = k.steps - after / kCuts;
  else
    flash.cut_at = 1 + (k.random >> 8) % k.steps;
  open();
  update();
  failed("the cut did not come");
}
