// Decoder: from the words of a command stream to operations, in order.
#pragma once

#include "npu/operation.h"
#include "npu/payload.h"

namespace runnel::npu {

class Decoder {
 public:
  // The accelerator must outlive the decoder. `follow`: goes on where jumps lead (U85), as a run does;
  // otherwise lists everything in the order of the words.
  Decoder(Words commands, const Accelerator& accelerator, bool follow = false) noexcept
      : words_(commands), accelerator_(&accelerator), follow_(follow) {}

  // The next operation; false after STOP, the last one. Errors: invalid_data naming the word of the stream: a
  // command that the product does not have, a missing payload or STOP, words after STOP, an operation that
  // reads a register never set, or a meaningless value, a jump out of the stream or without end; unsupported
  // for a conditional jump that is followed. Do not call it again after an error.
  Result<bool> next(Operation& out) noexcept;

 private:
  Status decode(std::uint16_t code, std::uint16_t param, Operation& out) noexcept;

  Status jump(std::size_t word, Operation& out) noexcept;

  Words words_;
  const Accelerator* accelerator_;
  bool follow_;
  Registers registers_;
  std::size_t at_ = 0;
  std::uint32_t count_ = 0;
  std::size_t jumps_ = 0;  // followed
  std::size_t marked_ = 0,
              until_mark_ = 1;  // the word of an earlier jump; jumps until the next one is marked
  bool stopped_ = false;
};

}  // namespace runnel::npu
