#include "compiler/write/same_results.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "compiler/run_whole.h"

namespace runnel::compiler {
namespace {

std::vector<std::byte> random_bytes(const Tensor& tensor, std::mt19937& random) {
  std::vector<std::byte> bytes(size_of(tensor.dtype) * element_count(tensor.shape));
  if (tensor.dtype != DType::float32) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
  }
  for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    const float value = static_cast<float>(random() % 65536) / 8192.0f - 4.0f;
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
  return bytes;
}

}  // namespace

Status check_same_results(const Graph& written, const Graph& read, int calls, std::uint32_t seed,
                          OperatorTable operators) {
  if (written.inputs.size() != read.inputs.size() || written.outputs.size() != read.outputs.size())
    return Status(Code::mismatch) << read.inputs.size() << " inputs and " << read.outputs.size()
                                  << " outputs, expected " << written.inputs.size() << " and "
                                  << written.outputs.size();
  std::mt19937 random(seed);
  std::vector<Buffers> inputs;
  for (int call = 0; call < calls; ++call) {
    Buffers one;
    for (const TensorId id : written.inputs)
      one.push_back(random_bytes(written.tensors[static_cast<std::size_t>(id)], random));
    inputs.push_back(std::move(one));
  }
  RUNNEL_ASSIGN(const std::vector<Buffers> expected, run_whole(written, inputs, 0, false, operators));
  RUNNEL_ASSIGN(const std::vector<Buffers> found, run_whole(read, inputs, 0, false, operators));
  for (std::size_t call = 0; call < expected.size(); ++call) {
    for (std::size_t i = 0; i < expected[call].size(); ++i) {
      const auto &a = expected[call][i], &b = found[call][i];
      if (a == b) continue;
      const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
      return Status(Code::mismatch) << "output " << i << " has " << b.size() << " bytes, expected "
                                    << a.size() << ", and differs from byte " << at << " on, in call "
                                    << call;
    }
  }
  return {};
}

}  // namespace runnel::compiler
