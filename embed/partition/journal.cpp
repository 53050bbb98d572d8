#include "embed/partition/journal.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "embed/partition/flash.h"

namespace runnel::embed {
namespace {

constexpr std::uint32_t kMagic = 0x4A4C4E52;  // RNLJ
constexpr std::size_t kRecord = 32;
using Record = std::array<std::byte, kRecord>;

std::uint32_t number(const Record& record, std::size_t at) noexcept {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out |= std::to_integer<std::uint32_t>(record[at + i]) << (8 * i);
  return out;
}
void put(Record& record, std::size_t at, std::uint32_t value) noexcept {
  for (std::size_t i = 0; i < 4; ++i) record[at + i] = static_cast<std::byte>(value >> (8 * i));
}

bool is_slot(std::uint32_t slot) noexcept { return slot < 2 || slot == kNoSlot; }

// Whether it is one.
bool decode(const Record& record, JournalState& out) noexcept {
  if (number(record, 0) != kMagic || number(record, 28) != crc32c(std::span(record).first(28))) return false;
  const std::uint32_t slots = number(record, 8);
  out.number = number(record, 4);
  out.confirmed = static_cast<std::uint8_t>(slots);
  out.trial = static_cast<std::uint8_t>(slots >> 8);
  out.starts = static_cast<std::uint8_t>(slots >> 16);
  out.header_crc[0] = number(record, 12);
  out.header_crc[1] = number(record, 16);
  out.least_version = number(record, 20);
  return out.number > 0 && is_slot(out.confirmed) && is_slot(out.trial);
}

Record encode(const JournalState& state) noexcept {
  Record out{};
  put(out, 0, kMagic);
  put(out, 4, state.number);
  put(out, 8, state.confirmed | std::uint32_t{state.trial} << 8 | std::uint32_t{state.starts} << 16);
  put(out, 12, state.header_crc[0]);
  put(out, 16, state.header_crc[1]);
  put(out, 20, state.least_version);
  put(out, 28, crc32c(std::span(out).first(28)));
  return out;
}

bool is_erased(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte one) { return one == std::byte{0xFF}; });
}

}  // namespace

std::uint32_t Journal::stride(const runnel_flash& flash) noexcept {
  return std::max<std::uint32_t>(kRecord, flash.program_bytes);
}

Status Journal::open(const runnel_flash& flash, std::uint32_t at) noexcept {
  at_ = at;
  state_ = {};
  counts_ = block_ = 1;
  next_ = flash.erase_bytes;  // full: the first record erases block 0
  const std::uint32_t step = stride(flash);
  for (std::uint32_t block = 0; block < 2; ++block) {
    std::uint32_t used = 0;
    bool counts = false;
    std::array<std::byte, kFlashPage> bytes;
    for (std::uint32_t place = 0; place + step <= flash.erase_bytes; place += step) {
      RUNNEL_TRY(read_flash(flash, at_ + block * flash.erase_bytes + place, std::span(bytes).first(step)));
      if (is_erased(std::span(bytes).first(step))) continue;
      // After a record that was cut, too.
      used = place + step;
      Record record;
      std::copy_n(bytes.begin(), kRecord, record.begin());
      JournalState found;
      if (!decode(record, found) || found.number <= state_.number) continue;
      state_ = found;
      counts = true;
    }
    if (!counts) continue;
    counts_ = block_ = block;
    next_ = used;
  }
  return {};
}

Status Journal::write(const runnel_flash& flash, JournalState state) noexcept {
  if (next_ + stride(flash) > flash.erase_bytes) {
    const std::uint32_t other = 1 - counts_;
    RUNNEL_TRY(erase_block(flash, at_ + other * flash.erase_bytes));
    block_ = other;
    next_ = 0;
  }
  state.number = state_.number + 1;
  const std::uint32_t place = next_;
  next_ += stride(flash);
  RUNNEL_TRY(program_flash(flash, at_ + block_ * flash.erase_bytes + place, encode(state)));
  state_ = state;
  counts_ = block_;
  return {};
}

}  // namespace runnel::embed
