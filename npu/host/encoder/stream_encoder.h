// Stream encoder: from operations to the words of a command stream and the driver's payload; the
// inverse of npu/decoder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "npu/host/encoder/register_writer.h"
#include "npu/operation.h"

namespace runnel::npu {

// The configuration word of a driver payload for this device.
std::uint32_t config_word(const Accelerator& accelerator) noexcept;

// Does not set registers that keep their values.
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
  void computation(const Operation& op);
  void set(Long code, const Scale& scale);
  void ifm(const Operation& op);
  void ifm2(const Operation& op);
  void ofm(const Operation& op);
  void streams(const Operation& op);
  void dma(const Dma& dma);

  const Accelerator& accelerator_;
  RegisterWriter to_;
};

}  // namespace runnel::npu
