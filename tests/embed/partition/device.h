// A device with two slots in flash that stays when the power goes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "embed/partition/runnel_slots.h"
#include "firmware/slots/simulated_flash.h"
#include "tests/embed/partition/support.h"

namespace runnel::test {

struct Geometry {
  std::uint32_t erase_bytes, program_bytes;
};

// A device with flash that stays when the power goes.
class Device {
 public:
  explicit Device(Geometry geometry = {4096, 8}) : geometry_(geometry) {
    const std::uint32_t block = geometry.erase_bytes;
    slot_bytes_ = (std::uint32_t{40000} + block - 1) / block * block;
    mapped_ = std::make_unique<Mapped>(Bytes(2 * block + 2 * slot_bytes_, std::byte{0xFF}));
    power_on();
  }

  void power_on(std::uint32_t cut_at = 0, firmware::Cut cut = firmware::Cut::before,
                std::uint32_t random = 1) {
    flash = {};
    flash.bytes = {mapped_->data(), 2 * geometry_.erase_bytes + 2 * slot_bytes_};
    flash.erase_bytes = geometry_.erase_bytes;
    flash.program_bytes = geometry_.program_bytes;
    flash.cut_at = cut_at;
    flash.cut = cut;
    flash.random = random;
    node = nullptr;
    slots = {};
  }
  runnel_slots_settings settings() {
    runnel_slots_settings out = change;
    out.flash = flash.callbacks(mapped);
    out.journal = 0;
    out.slot[0] = 2 * geometry_.erase_bytes;
    out.slot[1] = out.slot[0] + slot_bytes_;
    out.slot_bytes = slot_bytes_;
    return out;
  }
  void factory(const Bytes& image, int slot = 0) {
    std::copy(image.begin(), image.end(), mapped_->data() + settings().slot[slot]);
  }
  std::span<std::byte> slot(int index) { return {mapped_->data() + settings().slot[index], slot_bytes_}; }

  runnel_code open() {
    const runnel_slots_settings with = settings();
    return runnel_slots_open(&slots, &with, &runnel_apart);
  }
  runnel_code start() {
    const runnel_options options = {memory_->bytes, kRoom, nullptr, 0, Tail::keep, &tail};
    return runnel_slots_start(&slots, &options, &node);
  }
  // All of an update, up to its trial.
  runnel_code update(const Bytes& image, std::size_t piece = 700) {
    if (const runnel_code code = runnel_slots_begin(&slots); code != RUNNEL_OK) return code;
    for (std::size_t at = 0; at < image.size(); at += piece) {
      const runnel_code code =
          runnel_slots_write(&slots, image.data() + at, std::min(piece, image.size() - at));
      if (code != RUNNEL_OK) return code;
    }
    return runnel_slots_finish(&slots);
  }
  [[nodiscard]] runnel_slots_state state() const { return runnel_slots_state_of(&slots); }
  // The output of the model that runs.
  std::vector<unsigned char> output() { return output_of(node, tail); }

  firmware::SimulatedFlash flash;
  runnel_slots slots{};
  runnel_node* node = nullptr;
  Tail tail;
  bool mapped = true;
  runnel_slots_settings change{};  // besides flash and places

 private:
  Geometry geometry_;
  std::uint32_t slot_bytes_ = 0;
  std::unique_ptr<Mapped> mapped_;
  std::unique_ptr<Aligned> memory_ = std::make_unique<Aligned>();
};

}  // namespace runnel::test
