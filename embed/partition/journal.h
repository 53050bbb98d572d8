// The journal of the slots: two erase blocks of records, each of which is the whole state. The valid record
// with the highest number counts. A record is programmed once, after those before it; a full block is left
// as it is while the other one is erased and takes the next record, so that there is always one that counts.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "embed/partition/runnel_slots.h"

namespace runnel::embed {

inline constexpr std::uint8_t kNoSlot = 0xFF;

struct JournalState {
  std::uint32_t number = 0;  // of the record; 0: there is none
  std::uint8_t confirmed = kNoSlot, trial = kNoSlot;
  std::uint8_t starts = 0;  // of the trial
  // Checksums in the headers of the images that were installed; 0: none.
  std::uint32_t header_crc[2] = {};
  std::uint32_t least_version = 0;
};

class Journal {
 public:
  // Reads both blocks. Error: io_error.
  Status open(const runnel_flash& flash, std::uint32_t at) noexcept;
  [[nodiscard]] const JournalState& state() const noexcept { return state_; }
  // Writes a record; state() is the new one once it is there. Error: io_error, and state() is the old one.
  Status write(const runnel_flash& flash, JournalState state) noexcept;
  // Bytes of a record in this flash.
  static std::uint32_t stride(const runnel_flash& flash) noexcept;

 private:
  std::uint32_t at_ = 0;
  std::uint32_t counts_ = 1;            // block with the record that counts, which is never erased
  std::uint32_t block_ = 1, next_ = 0;  // where the next record goes, if it has room there
  JournalState state_;
};

}  // namespace runnel::embed
