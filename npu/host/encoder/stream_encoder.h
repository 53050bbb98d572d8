// Stream encoder: from operations to the words of a command stream and the driver's payload; the
// inverse of npu/decoder.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "npu/map_registers.h"
#include "npu/operation.h"

namespace runnel::npu {

// The configuration word of a driver payload for this device (U55, U65).
std::uint32_t config_word(const Accelerator& accelerator) noexcept;

// Does not set registers that keep their values. For U55 and U65.
class StreamEncoder {
 public:
  explicit StreamEncoder(const Accelerator& accelerator) noexcept : accelerator_(accelerator) {}

  // Adds one operation, complete as decoded, except STOP. Ignores `word` and `index`.
  void add(const Operation& op);
  // All words so far and STOP.
  [[nodiscard]] std::vector<std::uint32_t> words() const;
  // The driver's payload: COP1, configuration, stream at a multiple of 16 bytes.
  [[nodiscard]] std::vector<std::byte> payload() const;

 private:
  void set(Short code, std::int32_t value);
  void set(Long code, std::int64_t value);  // an address, a distance, a length
  void set(Long code, const Scale& scale);
  void set_long(Long code, std::uint16_t param, std::uint32_t payload);
  void command(OpCode code, std::uint16_t param);
  void map(const FeatureMap& map, const MapRegisters& codes);
  void ifm(const Operation& op);
  void ifm2(const Operation& op);
  void ofm(const Operation& op);
  void kernel(const Operation& op);
  void streams(const Operation& op);
  void dma(const Dma& dma);

  const Accelerator& accelerator_;
  std::vector<std::uint32_t> words_;
  std::array<std::optional<std::uint16_t>, Registers::kShorts> short_;
  std::array<std::optional<std::pair<std::uint16_t, std::uint32_t>>, Registers::kLongs> long_;
};

}  // namespace runnel::npu
