// Flash in memory whose power goes away at a chosen step, for tests of updates, on boards and on hosts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "embed/partition/runnel_slots.h"

namespace runnel::firmware {

// What a cut leaves of the step (an erasure or a programming).
enum class Cut : std::uint8_t {
  before,       // nothing
  prefix,       // some of the first bytes
  random_bits,  // some of the bits that it changes
  after         // all; but nobody heard
};
inline constexpr int kCuts = 4;

struct SimulatedFlash {
  std::span<std::byte> bytes;
  std::uint32_t erase_bytes = 4096, program_bytes = 1;

  std::uint32_t steps = 0;   // since it was made
  std::uint32_t cut_at = 0;  // step of the cut, from 1; 0: none
  Cut cut = Cut::before;
  std::uint32_t random = 1;
  void (*power_off)() = nullptr;  // does not return; null: every later call fails
  bool dead = false;

  int busy = 0;  // calls that are not done before each that is; below 0: all
  int waited = 0;
  std::uint32_t fails_from = 0;  // step from which everything fails, without changes; 0: none
  bool reads_fail = false;
  int violations = 0;  // of the rules in runnel_slots.h

  runnel_flash callbacks(bool mapped) noexcept {
    return {read, erase, program, this, erase_bytes, program_bytes, mapped ? bytes.data() : nullptr};
  }

  std::uint32_t next_random() noexcept {
    random ^= random << 13;
    random ^= random >> 17;
    return random ^= random << 5;
  }

 private:
  static SimulatedFlash& of(void* user) noexcept { return *static_cast<SimulatedFlash*>(user); }

  bool inside(std::uint32_t at, std::uint32_t count) noexcept {
    if (at <= bytes.size() && count <= bytes.size() - at) return true;
    ++violations;
    return false;
  }
  // Whether the call is to be made again.
  bool is_busy() noexcept {
    if (busy < 0 || waited < busy) {
      ++waited;
      return true;
    }
    waited = 0;
    return false;
  }
  // What this step leaves; false when it fails.
  template <class Change>
  int step(std::span<std::byte> at, Change change) noexcept {
    ++steps;
    if (fails_from != 0 && steps >= fails_from) return -5;
    if (steps != cut_at) {
      for (std::size_t i = 0; i < at.size(); ++i) at[i] = change(i);
      return 0;
    }
    const std::size_t some = at.empty() ? 0 : next_random() % at.size();
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::byte wanted = change(i);
      if (cut == Cut::after || (cut == Cut::prefix && i < some)) at[i] = wanted;
      if (cut == Cut::random_bits) {
        const auto mask = static_cast<std::byte>(next_random() >> 8);
        at[i] = (at[i] & ~mask) | (wanted & mask);
      }
    }
    dead = true;
    if (power_off != nullptr) power_off();
    return -1;
  }

  static int read(void* user, std::uint32_t at, void* to, std::uint32_t count) noexcept {
    SimulatedFlash& f = of(user);
    if (f.dead || f.reads_fail || !f.inside(at, count)) return -3;
    if (f.is_busy()) return 1;
    std::memcpy(to, f.bytes.data() + at, count);
    return 0;
  }
  static int erase(void* user, std::uint32_t at) noexcept {
    SimulatedFlash& f = of(user);
    if (f.dead || !f.inside(at, f.erase_bytes)) return -1;
    if (f.is_busy()) return 1;
    if (at % f.erase_bytes != 0) ++f.violations;
    return f.step(f.bytes.subspan(at, f.erase_bytes), [](std::size_t) { return std::byte{0xFF}; });
  }
  static int program(void* user, std::uint32_t at, const void* from, std::uint32_t count) noexcept {
    SimulatedFlash& f = of(user);
    if (f.dead || !f.inside(at, count)) return -1;
    if (f.is_busy()) return 1;
    const std::span<std::byte> to = f.bytes.subspan(at, count);
    const bool erased =
        std::all_of(to.begin(), to.end(), [](std::byte one) { return one == std::byte{0xFF}; });
    if (count == 0 || count > 256 || count % f.program_bytes != 0 || at % f.program_bytes != 0 || !erased)
      ++f.violations;
    const auto* const source = static_cast<const std::byte*>(from);
    // Bits are only cleared.
    return f.step(to, [&](std::size_t i) { return to[i] & source[i]; });
  }
};

}  // namespace runnel::firmware
