// Decoder: from the words of a command stream to operations, in order.
#pragma once

#include "npu/operation.h"
#include "npu/payload.h"

namespace runnel::npu {

class Decoder {
 public:
  // The accelerator must outlive the decoder.
  Decoder(Words commands, const Accelerator& accelerator) noexcept
      : words_(commands), accelerator_(&accelerator) {}

  // The next operation; false after STOP, the last one. Errors: invalid_data naming the word of the stream: a
  // command that the product does not have, a missing payload or STOP, words after STOP, an operation that
  // reads a register never set, or a meaningless value. Do not call it again after an error.
  Result<bool> next(Operation& out) noexcept;

 private:
  Status decode(std::uint16_t code, std::uint16_t param, Operation& out) noexcept;

  Words words_;
  const Accelerator* accelerator_;
  Registers registers_;
  std::size_t at_ = 0;
  std::uint32_t count_ = 0;
  bool stopped_ = false;
};

}  // namespace runnel::npu
