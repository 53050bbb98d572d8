#include "tests/compiler/import/pte/program_maker.h"

#include <algorithm>
#include <cstring>

namespace runnel::test {
namespace {

constexpr std::size_t kHeaderRoom = 64;  // keeps every alignment after it

void pad(Bytes& bytes, std::size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, std::byte{0});
}
void append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
Bytes bytes_of(const flatbuffers::FlatBufferBuilder& builder) {
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

}  // namespace

void put(Bytes& file, std::size_t at, std::uint64_t value, std::size_t bytes) {
  std::memcpy(file.data() + at, &value, bytes);
}

int ProgramMaker::add(pte::Values type, flatbuffers::Offset<void> value) {
  values_.push_back(pte::CreateValue(builder_, type, value));
  return static_cast<int>(values_.size() - 1);
}
int ProgramMaker::none() { return add(pte::Values::Null, pte::CreateNull(builder_).Union()); }
int ProgramMaker::integer(std::int64_t value) {
  return add(pte::Values::Int, pte::CreateInt(builder_, value).Union());
}
int ProgramMaker::number(double value) {
  return add(pte::Values::Double, pte::CreateDouble(builder_, value).Union());
}
int ProgramMaker::boolean(bool value) {
  return add(pte::Values::Bool, pte::CreateBool(builder_, value).Union());
}
int ProgramMaker::boxed(const std::vector<std::int64_t>& indices) {
  return add(pte::Values::IntList, pte::CreateIntList(builder_, builder_.CreateVector(indices)).Union());
}
int ProgramMaker::integers(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> indices;
  for (const std::int64_t value : values) indices.push_back(integer(value));
  return boxed(indices);
}
int ProgramMaker::tensors(const std::vector<std::int32_t>& values) {
  return add(pte::Values::TensorList, pte::CreateTensorList(builder_, builder_.CreateVector(values)).Union());
}

int ProgramMaker::tensor(const Tensor& tensor) {
  std::vector<std::uint8_t> order = tensor.dim_order;
  for (std::size_t i = 0; tensor.dim_order.empty() && i < tensor.sizes.size(); ++i)
    order.push_back(static_cast<std::uint8_t>(i));
  const auto sizes = builder_.CreateVector(tensor.sizes);
  const auto dim_order = builder_.CreateVector(order);
  const auto place =
      tensor.offset < 0
          ? 0
          : pte::CreateAllocationDetails(builder_, tensor.memory, static_cast<std::uint32_t>(tensor.offset),
                                         static_cast<std::uint32_t>(tensor.offset >> 32));
  return add(pte::Values::Tensor,
             pte::CreateTensor(builder_, tensor.type, tensor.storage_offset, sizes, dim_order, false,
                               tensor.buffer, place, 0, tensor.dynamism)
                 .Union());
}

int ProgramMaker::planned(std::vector<std::int32_t> sizes, std::int8_t type) {
  Tensor made{std::move(sizes), type};
  std::int64_t bytes = type == kInt8 || type == kUint8 ? 1 : type == kInt64 || type == kDouble ? 8 : 4;
  for (const std::int32_t size : made.sizes) bytes *= size;
  made.offset = memories[1];
  memories[1] += (bytes + 15) / 16 * 16;
  return tensor(made);
}

std::uint32_t ProgramMaker::add_data(const std::byte* data, std::size_t bytes) {
  data_.emplace_back(data, data + bytes);
  return static_cast<std::uint32_t>(data_.size() - 1);
}

int ProgramMaker::buffer(std::vector<std::int32_t> sizes, const std::vector<float>& first) {
  const auto* data = reinterpret_cast<const std::byte*>(first.data());
  mutable_data_.emplace_back(data, data + first.size() * sizeof(float));
  Tensor made{std::move(sizes)};
  made.buffer = static_cast<std::uint32_t>(mutable_data_.size() - 1);
  made.offset = memories[1];
  memories[1] += static_cast<std::int64_t>(first.size() * sizeof(float) + 15) / 16 * 16;
  return tensor(made);
}

void ProgramMaker::instruction(pte::InstructionArguments type, flatbuffers::Offset<void> args) {
  instructions_.push_back(pte::CreateInstruction(builder_, type, args));
}

void ProgramMaker::kernel(const std::string& name, const std::string& overload,
                          std::vector<std::int32_t> args) {
  const std::pair key(name, overload);
  auto found = std::find(names_.begin(), names_.end(), key);
  if (found == names_.end()) {
    operators_.push_back(pte::CreateOperatorDirect(builder_, name.c_str(), overload.c_str()));
    names_.push_back(key);
    found = names_.end() - 1;
  }
  kernel_number(static_cast<int>(found - names_.begin()), std::move(args));
}
void ProgramMaker::kernel_number(int op, std::vector<std::int32_t> args) {
  instruction(pte::InstructionArguments::KernelCall,
              pte::CreateKernelCallDirect(builder_, op, &args).Union());
}
void ProgramMaker::delegate(const std::string& id, const Bytes& payload, std::vector<std::int32_t> args,
                            bool in_segment) {
  std::uint32_t index = 0;
  if (in_segment) {
    payloads_.push_back(payload);
    index = static_cast<std::uint32_t>(payloads_.size());  // after the segment of constants
  } else {
    index = static_cast<std::uint32_t>(delegate_data_.size());
    delegate_data_.push_back(pte::CreateDelegateInlineData(
        builder_,
        builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size())));
  }
  const auto data = pte::CreateDelegateDataReference(builder_, in_segment ? 1 : 0, index);
  const std::vector specs{pte::CreateCompileSpecDirect(builder_, "target")};
  delegates_.push_back(pte::CreateDelegateDirect(builder_, id.c_str(), data, &specs));
  instruction(
      pte::InstructionArguments::DelegateCall,
      pte::CreateDelegateCallDirect(builder_, static_cast<int>(delegates_.size() - 1), &args).Union());
}
void ProgramMaker::move(int from, int to) {
  instruction(pte::InstructionArguments::MoveCall, pte::CreateMoveCall(builder_, from, to).Union());
}
void ProgramMaker::jump(int condition, int destination) {
  instruction(pte::InstructionArguments::JumpFalseCall,
              pte::CreateJumpFalseCall(builder_, condition, destination).Union());
}

Bytes ProgramMaker::file() {
  // Segments: constants, then the payloads, then first values; pieces at multiples of 16.
  Bytes segments;
  std::vector<flatbuffers::Offset<pte::DataSegment>> written;
  const auto add_segment = [&](const std::vector<Bytes>& pieces) {
    std::vector<std::uint64_t> offsets;
    pad(segments, 16);
    const std::size_t start = segments.size();
    for (const Bytes& piece : pieces) {
      pad(segments, 16);
      offsets.push_back(segments.size() - start);
      append(segments, piece);
    }
    written.push_back(pte::CreateDataSegment(builder_, start, segments.size() - start));
    return offsets;
  };
  const auto offsets = add_segment(inline_constants ? std::vector<Bytes>() : data_);
  for (const Bytes& payload : payloads_) add_segment({payload});
  const auto mutable_index = static_cast<std::uint32_t>(written.size());
  const auto mutable_offsets = add_segment(mutable_data_);
  for (const auto& [offset, size] : extra_segments)
    written.push_back(pte::CreateDataSegment(builder_, offset, size));
  std::vector<flatbuffers::Offset<pte::Buffer>> buffers;
  for (const Bytes& data : data_) {
    if (inline_constants)
      buffers.push_back(pte::CreateBuffer(
          builder_, builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()), data.size())));
  }
  std::vector<flatbuffers::Offset<pte::Chain>> list;
  for (int i = 0; i < chains; ++i)
    list.push_back(pte::CreateChainDirect(builder_, nullptr, nullptr, &instructions_));
  const auto plan =
      pte::CreateExecutionPlanDirect(builder_, "forward", 0, &values_, &inputs, &outputs, &list, &operators_,
                                     delegates_.empty() ? nullptr : &delegates_, &memories);
  const auto constants = inline_constants ? 0 : pte::CreateSubsegmentOffsetsDirect(builder_, 0, &offsets);
  const std::vector plans{plan};
  const std::vector first_values{
      pte::CreateSubsegmentOffsetsDirect(builder_, mutable_index, &mutable_offsets)};
  pte::FinishProgramBuffer(
      builder_, pte::CreateProgramDirect(builder_, version, &plans, &buffers, &delegate_data_, &written,
                                         constants, &first_values));
  Bytes program = bytes_of(builder_);
  // The extended header goes after the identifier; only the offset of the root counts from the beginning.
  program.insert(program.begin() + 8, kHeaderRoom, std::byte{0});
  std::uint32_t root = 0;
  std::memcpy(&root, program.data(), sizeof root);
  put(program, 0, root + kHeaderRoom, 4);
  std::memcpy(program.data() + 8, "eh00", 4);
  put(program, kHeaderLength, 32, 4);
  put(program, kProgramSize, program.size(), 8);
  Bytes out = program;
  pad(out, 16);
  put(out, kSegmentBase, out.size(), 8);
  put(out, kSegmentSize, segments.size(), 8);
  append(out, segments);
  return out;
}

Bytes ProgramMaker::bundle(const std::vector<Case>& cases) {
  const Bytes program = file();
  flatbuffers::FlatBufferBuilder builder;
  const auto list = [&](const auto& tensors) {
    std::vector<flatbuffers::Offset<pte::BundledValue>> values;
    for (const auto& [sizes, data] : tensors) {
      const auto shape = builder.CreateVector(sizes);
      const auto bytes = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()),
                                              data.size() * sizeof(float));
      values.push_back(
          pte::CreateBundledValue(builder, pte::BundledValues::Tensor,
                                  pte::CreateBundledTensor(builder, kFloat, shape, bytes).Union()));
    }
    return builder.CreateVector(values);
  };
  std::vector<flatbuffers::Offset<pte::TestCase>> written;
  for (const Case& one : cases) {
    const auto in = list(one.inputs), out = list(one.outputs);
    written.push_back(pte::CreateTestCase(builder, in, out));
  }
  const std::vector suites{pte::CreateTestSuiteDirect(builder, "forward", &written)};
  const auto suite_list = builder.CreateVector(suites);
  builder.ForceVectorAlignment(program.size(), 1, 32);
  const auto inner =
      builder.CreateVector(reinterpret_cast<const std::uint8_t*>(program.data()), program.size());
  builder.Finish(pte::CreateBundledProgram(builder, 0, suite_list, inner), "BP08");
  return bytes_of(builder);
}

ProgramMaker tiny_program() {
  ProgramMaker maker;
  const int x = maker.planned({4}), w = maker.constant<float>({4}, ProgramMaker::kFloat, {1, -1, 2, 0.5f}),
            b = maker.constant<float>({4}, ProgramMaker::kFloat, {0, 1, 0, -1});
  const int product = maker.planned({4}), sum = maker.planned({4}), y = maker.planned({4}),
            one = maker.integer(1);
  maker.kernel("aten::mul", "out", {x, w, product, product});
  maker.kernel("aten::add", "out", {product, b, one, sum, sum});
  maker.kernel("aten::relu", "out", {sum, y, y});
  maker.inputs = {x};
  maker.outputs = {y};
  return maker;
}

Bytes tiny_vela_stream() {
  Bytes out;
  const auto block = [&](const char* name, const Bytes& data) {
    const std::size_t at = out.size();
    out.resize(at + 32, std::byte{0});
    std::memcpy(out.data() + at, name, std::min<std::size_t>(std::strlen(name), 16));
    put(out, at + 16, data.size(), 4);
    append(out, data);
    pad(out, 16);
  };
  const auto words = [](const std::vector<std::int32_t>& numbers) {
    Bytes data(numbers.size() * 4);
    std::memcpy(data.data(), numbers.data(), data.size());
    return data;
  };
  block("vela_bin_stream", {});
  block("cmd_data", words({0x31504F43, 0, 0, 0}));
  block("weight_data", Bytes(16, std::byte{7}));
  block("scratch_size", words({64}));
  block("inputs", words({1, 1, 1, 1, 1, 1, 1, 1, 16, 1}));
  block("outputs", words({1, 1, 1, 1, 1, 1, 1, 1, 0, 1}));
  block("vela_end_stream", {});
  return out;
}

}  // namespace runnel::test
