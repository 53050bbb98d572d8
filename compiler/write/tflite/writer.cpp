#include "compiler/write/tflite/writer.h"

#include <algorithm>

#include "base/version.h"
#include "compiler/write/ethos_u_segment.h"
#include "compiler/write/tflite/arena.h"
#include "compiler/write/tflite/builtins.h"
#include "compiler/write/tflite/draft.h"

namespace runnel::compiler {
namespace tflite_source {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

// Alignment of constants in the file, as the schema of TensorFlow Lite asks for.
constexpr std::size_t kDataAlignment = 16;

Result<std::int8_t> type_of(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::float32:
      return 0;
    case DType::int32:
      return 2;
    case DType::uint8:
      return 3;
    case DType::int64:
      return 4;
    case DType::boolean:
      return 6;
    case DType::int16:
      return 7;
    case DType::int8:
      return 9;
    default:
      return Status(Code::unsupported)
             << "tensor \"" << tensor.name << "\": TensorFlow Lite has no " << runnel::name_of(tensor.dtype);
  }
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph), last_reader_(graph.tensors.size(), -1) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const TensorId id : graph.nodes[n].inputs) {
        if (id >= 0) last_reader_[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(n);
      }
    }
  }

  Result<WrittenTflite> run() {
    for (const TensorId id : graph_.inputs) draft_.inputs.push_back(draft_.tensor(graph_, id));
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      RUNNEL_TRY(is_ethos_u(graph_.nodes[n]) ? add_segment(n) : add_builtin(draft_, graph_, graph_.nodes[n]));
    }
    for (const TensorId id : graph_.outputs) draft_.outputs.push_back(draft_.tensor(graph_, id));
    if (target_.empty()) return Status(Code::unsupported) << "no segment for an Ethos-U in the graph";
    WrittenTflite out;
    out.arena = plan_tensor_arena(draft_);
    if (copies_ > 0)
      out.notes.push_back(std::to_string(copies_) + " copies of tensors that segments need in other places");
    RUNNEL_ASSIGN(out.bytes, serialize());
    return out;
  }

 private:
  std::int32_t bytes_tensor(const std::string& name, std::size_t size,
                            std::optional<std::vector<std::byte>> data) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = DType::uint8;
    tensor.shape = {static_cast<std::int32_t>(size)};
    tensor.data = std::move(data);
    return draft_.add(std::move(tensor));
  }
  std::int32_t constant(const std::string& name, std::span<const std::byte> data) {
    std::vector<std::byte> bytes(data.begin(), data.end());
    if (bytes.empty()) bytes.resize(kDataAlignment);  // a memory of no bytes would have no address
    const std::size_t size = bytes.size();
    return bytes_tensor(name, size, std::move(bytes));
  }

  // Whether a segment's input can lie where the segment reads it: nobody needs it elsewhere or afterwards.
  [[nodiscard]] bool may_lie_in(TensorId id, std::int32_t tensor, std::size_t node) const {
    const DraftTensor& found = draft_.tensors[static_cast<std::size_t>(tensor)];
    return !found.tensor.data && found.block < 0 &&
           last_reader_[static_cast<std::size_t>(id)] == static_cast<std::int64_t>(node) &&
           std::ranges::find(graph_.outputs, id) == graph_.outputs.end();
  }
  void place(std::int32_t tensor, std::int32_t block, std::size_t offset) {
    draft_.tensors[static_cast<std::size_t>(tensor)].block = block;
    draft_.tensors[static_cast<std::size_t>(tensor)].block_offset = offset;
  }

  Status add_segment(std::size_t n) {
    const Node& node = graph_.nodes[n];
    RUNNEL_ASSIGN(const EthosUSegment segment, read_segment(graph_, node));
    target_ = segment.target;
    DraftOperator op;
    op.custom = "ethos-u";
    const std::size_t scratch_bytes = std::max(segment.scratch, kArenaAlignment);
    const std::int32_t commands = constant(node.name + "/command_stream", segment.commands),
                       weights = constant(node.name + "/flash", segment.weights),
                       scratch = bytes_tensor(node.name + "/scratch", scratch_bytes, std::nullopt);
    // Without use of a fast memory of its own it is the scratch memory once more, as Arm's compiler writes
    // it.
    const bool fast = segment.fast_scratch > 0;
    const std::int32_t second =
        bytes_tensor(node.name + "/scratch_fast", fast ? segment.fast_scratch : scratch_bytes, std::nullopt);
    if (!fast) place(second, scratch, 0);
    op.inputs = {commands, weights, scratch, second};
    for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
      const TensorId id = segment.inputs[i];
      std::int32_t tensor = draft_.tensor(graph_, id);
      if (!may_lie_in(id, tensor, n)) {
        Tensor own = draft_.tensors[static_cast<std::size_t>(tensor)].tensor;
        own.name += " for " + node.name;
        own.data.reset();
        const std::int32_t copy = draft_.add(std::move(own));
        add_copy(draft_, tensor, copy);
        tensor = copy;
        ++copies_;
      }
      place(tensor, scratch, segment.in_offsets[i]);
      op.inputs.push_back(tensor);
    }
    for (std::size_t i = 0; i < segment.outputs.size(); ++i) {
      const std::int32_t tensor = draft_.tensor(graph_, segment.outputs[i]);
      place(tensor, scratch, segment.out_offsets[i]);
      op.outputs.push_back(tensor);
    }
    draft_.operators.push_back(std::move(op));
    return {};
  }

  Offset<tflite::Buffer> buffer(std::span<const std::byte> data) {
    out_.ForceVectorAlignment(data.size(), 1, kDataAlignment);
    return tflite::CreateBuffer(
        out_, out_.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()));
  }

  Result<Offset<tflite::Tensor>> tensor(const DraftTensor& draft, std::uint32_t data) {
    const Tensor& from = draft.tensor;
    RUNNEL_ASSIGN(const std::int8_t type, type_of(from));
    Offset<tflite::QuantizationParameters> quantization = 0;
    if (!from.scales.empty()) {
      const std::vector<std::int64_t> zeros(from.zero_points.begin(), from.zero_points.end());
      quantization = tflite::CreateQuantizationParameters(out_, 0, 0, out_.CreateVector(from.scales),
                                                          out_.CreateVector(zeros), 0,
                                                          from.scales.size() > 1 ? from.channel_axis : 0);
    }
    return tflite::CreateTensor(out_, out_.CreateVector(from.shape), type, data, out_.CreateString(from.name),
                                quantization);
  }

  Offset<tflite::Operator> written(const DraftOperator& op, std::uint32_t code) {
    const Offset<void> options = op.options ? op.options(out_) : Offset<void>();
    // Of the custom operator: the number 1, for "Ethos-U", as a FlexBuffer.
    const std::vector<std::uint8_t> kEthosU = {1, 4, 1};
    const auto custom =
        op.code == Builtin::CUSTOM ? out_.CreateVector(kEthosU) : Offset<flatbuffers::Vector<std::uint8_t>>();
    return tflite::CreateOperator(out_, code, out_.CreateVector(op.inputs), out_.CreateVector(op.outputs),
                                  op.type, options, custom);
  }

  Result<std::vector<std::byte>> serialize() {
    std::vector<Offset<tflite::Buffer>> buffers = {tflite::CreateBuffer(out_)};  // 0: of tensors without data
    std::vector<Offset<tflite::Tensor>> tensors;
    std::vector<std::int32_t> places = {0, 1, static_cast<std::int32_t>(draft_.tensors.size())};
    for (const DraftTensor& from : draft_.tensors) {
      std::uint32_t data = 0;
      if (from.tensor.data) {
        data = static_cast<std::uint32_t>(buffers.size());
        buffers.push_back(buffer(*from.tensor.data));
      }
      RUNNEL_ASSIGN(const auto made, tensor(from, data));
      tensors.push_back(made);
      places.push_back(static_cast<std::int32_t>(from.arena));
    }
    std::vector<Offset<tflite::OperatorCode>> codes;
    std::vector<const DraftOperator*> known;
    std::vector<Offset<tflite::Operator>> operators;
    for (const DraftOperator& op : draft_.operators) {
      const auto same = [&](const DraftOperator* other) {
        return other->code == op.code && other->version == op.version;
      };
      auto found = std::ranges::find_if(known, same);
      if (found == known.end()) {
        // The first field is of files of the first generation, and holds what fits into it.
        const auto number = static_cast<std::int32_t>(op.code);
        codes.push_back(tflite::CreateOperatorCode(
            out_, static_cast<std::int8_t>(std::min(number, 127)),
            op.custom.empty() ? Offset<flatbuffers::String>() : out_.CreateString(op.custom), op.version,
            number));
        known.push_back(&op);
        found = known.end() - 1;
      }
      operators.push_back(written(op, static_cast<std::uint32_t>(found - known.begin())));
    }
    const auto place_buffer = static_cast<std::uint32_t>(buffers.size());
    buffers.push_back(buffer(std::as_bytes(std::span(places))));
    const std::vector<Offset<tflite::Metadata>> metadata = {
        tflite::CreateMetadata(out_, out_.CreateString("OfflineMemoryAllocation"), place_buffer)};
    const std::vector<Offset<tflite::SubGraph>> graphs = {tflite::CreateSubGraph(
        out_, out_.CreateVector(tensors), out_.CreateVector(draft_.inputs), out_.CreateVector(draft_.outputs),
        out_.CreateVector(operators), out_.CreateString(graph_.name.empty() ? "main" : graph_.name))};
    const std::string description = "runnel " + std::string(kVersion) + ", " + target_;
    tflite::FinishModelBuffer(
        out_, tflite::CreateModel(out_, 3, out_.CreateVector(codes), out_.CreateVector(graphs),
                                  out_.CreateString(description), out_.CreateVector(buffers), 0,
                                  out_.CreateVector(metadata)));
    const auto* const data = reinterpret_cast<const std::byte*>(out_.GetBufferPointer());
    return std::vector(data, data + out_.GetSize());
  }

  const Graph& graph_;
  std::vector<std::int64_t> last_reader_;  // of each tensor, a node
  Draft draft_;
  std::string target_;
  int copies_ = 0;
  FlatBufferBuilder out_;
};

}  // namespace
}  // namespace tflite_source

Result<WrittenTflite> write_tflite(const Graph& graph) { return tflite_source::Writer(graph).run(); }

}  // namespace runnel::compiler
