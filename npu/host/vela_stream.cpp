#include "npu/host/vela_stream.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kBlockHead = 32, kName = 16, kTensor = 36, kKey = 64;

template <class T>
T number_at(std::span<const std::byte> data, std::size_t at) {
  T value;
  std::memcpy(&value, data.data() + at, sizeof value);
  return value;
}

struct Block {
  std::string name;
  std::span<const std::byte> data;
  bool external = false;  // the data is a key
};

class Blocks {
 public:
  explicit Blocks(std::span<const std::byte> payload) : rest_(payload) {}

  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  Result<Block> next(std::string_view expected) {
    const auto fail = [&] { return Status(Code::invalid_data) << "block \"" << expected << "\": "; };
    if (rest_.size() < kBlockHead)
      return fail() << rest_.size() << " bytes left, expected " << kBlockHead << " for its head";
    Block block;
    const auto* const name = reinterpret_cast<const char*>(rest_.data());
    block.name.assign(name, std::find(name, name + kName, '\0'));
    if (std::any_of(name + block.name.size(), name + kName, [](char letter) { return letter != '\0'; }))
      return fail() << "a name with bytes after its end";
    const auto size = number_at<std::uint32_t>(rest_, kName);
    const std::size_t padded = (std::size_t{size} + 15) / 16 * 16;
    if (padded > rest_.size() - kBlockHead)
      return fail() << size << " bytes of data, but " << rest_.size() - kBlockHead << " are left";
    const auto external = std::to_integer<unsigned>(rest_[kName + 4]);
    if (external > 1) return fail() << "external is " << external << ", expected 0 or 1";
    block.external = external == 1;
    block.data = rest_.subspan(kBlockHead, size);
    rest_ = rest_.subspan(kBlockHead + padded);
    return block;
  }
  // The next block, which must have this name.
  Result<Block> take(std::string_view name) {
    RUNNEL_ASSIGN(Block block, next(name));
    if (block.name != name)
      return Status(Code::invalid_data) << "block \"" << name << "\" is missing; found another one";
    return block;
  }

 private:
  std::span<const std::byte> rest_;
};

Result<std::span<const std::byte>> data_of(const Block& block, std::span<const NamedData> named_data) {
  if (!block.external) return block.data;
  const auto fail = [&] { return Status(Code::invalid_data) << "block \"" << block.name << "\": "; };
  if (block.data.size() != kKey)
    return fail() << "a key of " << block.data.size() << " bytes, expected " << kKey;
  const std::string_view key(reinterpret_cast<const char*>(block.data.data()), block.data.size());
  const auto found = std::ranges::find(named_data, key, &NamedData::key);
  if (found == named_data.end()) return fail() << "a key that the program has no data for";
  return found->bytes;
}

// The product of a shape and the size of its elements.
Result<std::size_t> bytes_of(const VelaTensor& tensor, const std::string& place) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 31;
  std::uint64_t bytes = static_cast<std::uint64_t>(tensor.element);
  bool empty = false;
  for (const std::int32_t size : tensor.shape) {
    if (size < 0)
      return Status(Code::invalid_data) << place << ": a size of " << size << ", expected 0 or more";
    empty = empty || size == 0;
    if (!checked_mul(bytes, static_cast<std::uint64_t>(size), bytes) || bytes > kMax)
      return Status(Code::invalid_data) << place << ": more than " << kMax << " bytes";
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

Status check_tensor(VelaTensor& tensor, const std::string& place, std::uint32_t scratch) {
  const auto fail = [&] { return Status(Code::invalid_data) << place << ": "; };
  if (tensor.element != 1 && tensor.element != 2 && tensor.element != 4)
    return fail() << "elements of " << tensor.element << " bytes, expected 1, 2 or 4";
  RUNNEL_ASSIGN(tensor.bytes, bytes_of(tensor, place));
  if (tensor.bytes == 0) return fail() << "a shape with a 0 in it";
  if (tensor.region < 0 || tensor.region > 2)
    return fail() << "region " << tensor.region << ", expected 0 to 2";
  if (tensor.offset < 0 || !range_inside(static_cast<std::uint64_t>(tensor.offset), tensor.bytes, scratch)) {
    return fail() << tensor.bytes << " bytes at " << tensor.offset << ", outside of the scratch memory of "
                  << scratch;
  }
  return {};
}

Result<std::vector<VelaTensor>> read_tensors(const Block& block, std::uint32_t scratch) {
  const auto fail = [&] { return Status(Code::invalid_data) << "block \"" << block.name << "\": "; };
  if (block.external || block.data.size() < 4)
    return fail() << block.data.size() << " bytes, expected a count";
  const auto count = number_at<std::int32_t>(block.data, 0);
  if (count < 0 || static_cast<std::uint64_t>(count) * kTensor + 4 != block.data.size()) {
    return fail() << count << " tensors in " << block.data.size() << " bytes, expected 4 and " << kTensor
                  << " for each";
  }
  std::vector<VelaTensor> tensors;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    VelaTensor tensor;
    const std::size_t at = 4 + i * kTensor;
    for (std::size_t axis = 0; axis < 6; ++axis)
      tensor.shape[axis] = number_at<std::int32_t>(block.data, at + 4 * axis);
    tensor.element = number_at<std::int32_t>(block.data, at + 24);
    tensor.offset = number_at<std::int32_t>(block.data, at + 28);
    tensor.region = number_at<std::int32_t>(block.data, at + 32);
    RUNNEL_TRY(check_tensor(tensor, "block \"" + block.name + "\", tensor " + std::to_string(i), scratch));
    tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace

Result<VelaStream> read_vela_stream(std::span<const std::byte> payload,
                                    std::span<const NamedData> named_data) {
  Blocks blocks(payload);
  RUNNEL_ASSIGN(const Block head, blocks.take("vela_bin_stream"));
  if (!head.data.empty())
    return Status(Code::invalid_data)
           << "block \"vela_bin_stream\": " << head.data.size() << " bytes, expected none";
  VelaStream out;
  RUNNEL_ASSIGN(const Block commands, blocks.take("cmd_data"));
  RUNNEL_ASSIGN(out.commands, data_of(commands, named_data));
  const bool known =
      out.commands.size() >= 4 && out.commands.size() % 4 == 0 &&
      (std::memcmp(out.commands.data(), "COP1", 4) == 0 || std::memcmp(out.commands.data(), "COP2", 4) == 0);
  if (!known)
    return Status(Code::invalid_data) << "block \"cmd_data\": " << out.commands.size()
                                      << " bytes that are no command stream (COP1 or COP2, words of 4 bytes)";
  RUNNEL_ASSIGN(const Block weights, blocks.take("weight_data"));
  RUNNEL_ASSIGN(out.weights, data_of(weights, named_data));
  // Older payloads contain the scratch memory, as zeros.
  RUNNEL_ASSIGN(const Block scratch, blocks.next("scratch_size"));
  if (scratch.external || (scratch.name != "scratch_size" && scratch.name != "scratch_data"))
    return Status(Code::invalid_data) << "block \"scratch_size\" is missing; found another one";
  if (scratch.name == "scratch_data") {
    out.scratch = static_cast<std::uint32_t>(scratch.data.size());
  } else if (scratch.data.size() == 4) {
    out.scratch = number_at<std::uint32_t>(scratch.data, 0);
  } else {
    return Status(Code::invalid_data)
           << "block \"scratch_size\": " << scratch.data.size() << " bytes, expected 4";
  }
  RUNNEL_ASSIGN(const Block inputs, blocks.take("inputs"));
  RUNNEL_ASSIGN(out.inputs, read_tensors(inputs, out.scratch));
  RUNNEL_ASSIGN(const Block outputs, blocks.take("outputs"));
  RUNNEL_ASSIGN(out.outputs, read_tensors(outputs, out.scratch));
  RUNNEL_ASSIGN(const Block end, blocks.take("vela_end_stream"));
  if (!end.data.empty() || blocks.left() != 0)
    return Status(Code::invalid_data) << "block \"vela_end_stream\": " << end.data.size() + blocks.left()
                                      << " bytes in it and after it, expected none";
  return out;
}

namespace {

class BlockWriter {
 public:
  void add(std::string_view name, std::span<const std::byte> data) {
    const auto size = static_cast<std::uint32_t>(data.size());
    const std::size_t head = bytes_.size();
    bytes_.resize(head + kBlockHead + (data.size() + 15) / 16 * 16);
    std::memcpy(bytes_.data() + head, name.data(), name.size());
    std::memcpy(bytes_.data() + head + kName, &size, sizeof size);
    if (!data.empty()) std::memcpy(bytes_.data() + head + kBlockHead, data.data(), data.size());
  }
  void add(std::string_view name, const std::vector<std::int32_t>& numbers) {
    add(name, std::as_bytes(std::span(numbers)));
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::int32_t> numbers_of(const std::vector<VelaTensor>& tensors) {
  std::vector<std::int32_t> numbers = {static_cast<std::int32_t>(tensors.size())};
  for (const VelaTensor& tensor : tensors) {
    numbers.insert(numbers.end(), tensor.shape.begin(), tensor.shape.end());
    numbers.insert(numbers.end(), {tensor.element, tensor.offset, tensor.region});
  }
  return numbers;
}

}  // namespace

std::vector<std::byte> write_vela_stream(const VelaStream& stream) {
  BlockWriter blocks;
  blocks.add("vela_bin_stream", std::span<const std::byte>());
  blocks.add("cmd_data", stream.commands);
  blocks.add("weight_data", stream.weights);
  blocks.add("scratch_size", std::vector{static_cast<std::int32_t>(stream.scratch)});
  blocks.add("inputs", numbers_of(stream.inputs));
  blocks.add("outputs", numbers_of(stream.outputs));
  blocks.add("vela_end_stream", std::span<const std::byte>());
  return blocks.take();
}

}  // namespace runnel::npu
