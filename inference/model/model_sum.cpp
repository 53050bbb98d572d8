#include "inference/model/model_sum.h"

#include <cstddef>
#include <span>

#include "base/crc32c.h"
#include "inference/op_code.h"

namespace runnel {

std::uint32_t model_sum(const Model& model) noexcept {
  std::uint32_t sum = 0;
  const auto mix = [&](std::int64_t value) {
    std::byte bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
    sum = crc32c(bytes, sum);
  };
  for (int i = 0; i < model.operator_count(); ++i) {
    const fb::Operator& op = model.op(i);
    mix(static_cast<std::int64_t>(code_of(op)));
    mix(op.version());
    for (const std::int32_t tensor : *op.inputs()) {
      mix(tensor);
      if (tensor >= 0 && model.tensor(tensor).constant) sum = crc32c(model.tensor(tensor).data, sum);
    }
    for (const std::int32_t tensor : *op.outputs()) mix(tensor);
  }
  return sum;
}

}  // namespace runnel
