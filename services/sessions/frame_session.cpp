#include "services/sessions/frame_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "inference/model/loader.h"
#include "inference/model/usage.h"
#include "pipeline/nodes/model/infer.h"

namespace runnel::sessions {

// The node `infer` over a preparation that exists.
class SessionNode final : public pipeline::Infer {
 public:
  const Prepared* shared = nullptr;  // null: this one prepares, for others
  Memory* lasting = nullptr;         // where to then
  const Prepared* made = nullptr;

 protected:
  Result<const Prepared*> make_prepared(pipeline::NodeContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override {
    if (shared != nullptr) return shared;
    RUNNEL_ASSIGN(made, Prepared::make(loaded, context.operators, options, *lasting));
    return made;
  }
};

namespace {

// Frames of one call of the node: as many as a plan for the buffers needs to know.
constexpr std::int64_t kFramesPerCall = 256;

class OneModel final : public ModelLoader {
 public:
  explicit OneModel(const Model& model) : model_(model) {}
  Result<const Model*> load(std::string_view) noexcept override { return &model_; }

 private:
  const Model& model_;
};

struct SavedHeader {
  char magic[4] = {'R', 'N', 'L', 'F'};
  std::uint32_t crc32c = 0;  // of all that follows
  std::int64_t taken = 0, next = 0, ended = 0;
};
constexpr std::size_t kBeforeSum = offsetof(SavedHeader, taken);

// What is known of a node when it is prepared.
struct ReadyNode {
  SessionNode* node = nullptr;
  pipeline::Format output;
  std::int64_t capacity = 0;
};

Result<ReadyNode> prepare_node(const Model& model, const std::string& name, const FrameOptions& options,
                               const FrameType& input, const Prepared* shared, Memory& lasting,
                               Memory& memory) {
  void* const place = memory.allocate(sizeof(SessionNode), alignof(SessionNode));
  if (place == nullptr) return pipeline::out_of_memory("a session");
  auto* const node = new (place) SessionNode();
  node->shared = shared;
  node->lasting = &lasting;
  node->model = name;
  node->output = options.output;
  node->chunk = options.block;
  node->dequantize = options.dequantize;
  OneModel loader(model);
  pipeline::NodeContext context{.memory = memory,
                                .label = name,
                                .input_label = "the session",
                                .input = {},
                                .max_input = kFramesPerCall,
                                .isa = options.isa,
                                .models = &loader,
                                .operators = options.operators,
                                .fast = {},
                                .output = {},
                                .max_output = 0,
                                .fix = {}};
  context.input.kind = pipeline::Kind::frames;
  context.input.dtype = input.dtype;
  context.input.channels = static_cast<std::int32_t>(input.values);
  context.input.codes = options.integers;  // whatever their scale
  context.input.clock.sample_rate = 1;
  context.output = context.input;
  if (Status status = node->prepare(context); !status.ok()) {
    node->~SessionNode();
    return status;
  }
  return ReadyNode{node, context.output, std::max<std::int64_t>(context.max_output, 1)};
}

// The input that takes the stream, and how many values its frames have.
Result<FrameType> input_of(const Model& model, const std::string& name, bool integers) {
  auto usage = usage_of(model);
  if (!usage.ok()) return usage.status().at(name);
  FrameType type;
  const int input = model.inputs()[static_cast<std::size_t>(usage->stepped() ? usage->input : 0)];
  const TensorView tensor = model.tensor(input);
  type.dtype = integers ? tensor.dtype : DType::float32;
  if (integers && tensor.dtype == DType::float32)
    return Status(Code::mismatch) << name << ": its input is float32, expected a model with integers";
  type.exponent = integers ? tensor.exponent() : 0;
  if (usage->stepped()) {
    type.values = usage->frame_values;
    return type;
  }
  if (model.plan() == nullptr)
    return Status(Code::unsupported) << name << ": the model has no streaming plan";
  const int axis = model.plan()->tensors()->Get(static_cast<flatbuffers::uoffset_t>(input))->time_axis();
  type.values = tensor.shape.elements() / std::max(axis < 0 ? 1 : tensor.shape[axis], 1);
  return type;
}

}  // namespace

Result<std::shared_ptr<const FrameModel>> FrameModel::make(std::shared_ptr<const OwnedModel> model,
                                                           std::string name, const FrameOptions& options) {
  if (options.block < 0)
    return Status(Code::invalid_argument)
           << name << ": blocks of " << options.block << " frames, expected at least 0";
  std::shared_ptr<FrameModel> made(new FrameModel());
  made->owned_ = std::move(model);
  made->name_ = std::move(name);
  made->options_ = options;
  if (made->model().inputs().empty() || made->model().outputs().empty())
    return Status(Code::invalid_data) << made->name_ << ": a model without inputs or outputs";
  RUNNEL_ASSIGN(made->input_, input_of(made->model(), made->name_, options.integers));
  HeapMemory scratch;  // of a session that nobody will use
  RUNNEL_ASSIGN(const ReadyNode first, prepare_node(made->model(), made->name_, options, made->input_,
                                                    nullptr, made->memory_, scratch));
  made->prepared_ = first.node->made;
  made->output_ = {first.output.dtype, first.output.channels, first.output.exponent};
  // The clock of the input was one unit per frame.
  made->up_ = first.output.clock.denominator;
  made->down_ = first.output.clock.hop;
  first.node->~SessionNode();
  return std::shared_ptr<const FrameModel>(std::move(made));
}

FrameModel::~FrameModel() = default;

Result<std::unique_ptr<FrameSession>> FrameSession::make(std::shared_ptr<const FrameModel> model) {
  std::unique_ptr<FrameSession> made(new FrameSession(std::move(model)));
  const FrameModel& of = *made->model_;
  RUNNEL_ASSIGN(const ReadyNode node, prepare_node(of.model(), of.name_, of.options_, of.input_, of.prepared_,
                                                   made->memory_, made->memory_));
  made->node_ = node.node;
  made->room_frames_ = node.capacity;
  made->room_ = static_cast<std::byte*>(
      made->memory_.allocate(static_cast<std::size_t>(node.capacity) * of.output_.bytes(), 64));
  if (made->room_ == nullptr) return pipeline::out_of_memory("the frames of a session");
  made->reset();
  return made;
}

FrameSession::~FrameSession() {
  if (node_ != nullptr) node_->~SessionNode();
}

void FrameSession::reset() noexcept {
  next_ = node_->reset(0);
  taken_ = 0;
  ended_ = false;
}

Status FrameSession::push(const std::byte* frames, std::int64_t count, FrameBatch& out) {
  out.first = next_;
  out.count = 0;
  out.data.clear();
  if (ended_)
    return Status(Code::invalid_argument,
                  "frames after the end of a stream: reset the session before it takes more");
  const std::size_t in_bytes = model_->input_.bytes(), out_bytes = model_->output_.bytes();
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t now = std::min(kFramesPerCall, count - done);
    pipeline::Output brought{.data = room_, .capacity = room_frames_};
    RUNNEL_TRY(node_->process({frames + static_cast<std::size_t>(done) * in_bytes, now, taken_}, brought));
    done += now;
    taken_ += now;
    if (brought.count == 0) continue;
    if (out.count == 0) out.first = brought.first;
    out.count += brought.count;
    out.data.insert(out.data.end(), room_, room_ + static_cast<std::size_t>(brought.count) * out_bytes);
  }
  next_ = out.first + out.count;
  return {};
}

Status FrameSession::flush(FrameBatch& out) {
  out.first = next_;
  out.count = 0;
  out.data.clear();
  for (bool end = ended_; !end;) {
    pipeline::Output brought{.data = room_, .capacity = room_frames_};
    RUNNEL_TRY(node_->flush(brought));
    end = brought.end;
    if (brought.count == 0) continue;
    if (out.count == 0) out.first = brought.first;
    out.count += brought.count;
    out.data.insert(out.data.end(), room_,
                    room_ + static_cast<std::size_t>(brought.count) * model_->output_.bytes());
  }
  ended_ = true;
  next_ = out.first + out.count;
  return {};
}

Result<std::vector<std::byte>> FrameSession::save() {
  std::vector<std::byte> bytes(sizeof(SavedHeader) + node_->saved_bytes());
  RUNNEL_TRY(node_->save(std::span(bytes).subspan(sizeof(SavedHeader))));
  SavedHeader header;
  header.taken = taken_;
  header.next = next_;
  header.ended = ended_ ? 1 : 0;
  std::memcpy(bytes.data(), &header, sizeof(header));
  header.crc32c = crc32c(std::span<const std::byte>(bytes).subspan(kBeforeSum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Status FrameSession::restore(std::span<const std::byte> from) {
  SavedHeader header;
  if (from.size() != sizeof(header) + node_->saved_bytes())
    return Status(Code::invalid_data)
           << "a saved session of " << from.size() << " bytes, expected "
           << sizeof(header) + node_->saved_bytes() << ": was it saved by this model?";
  std::memcpy(&header, from.data(), sizeof(header));
  if (std::memcmp(header.magic, SavedHeader().magic, sizeof(header.magic)) != 0)
    return Status(Code::invalid_data, "not a saved session");
  if (crc32c(from.subspan(kBeforeSum)) != header.crc32c)
    return Status(Code::invalid_data, "the saved session is damaged: its checksum does not match");
  if (header.taken < 0 || header.next < 0 || header.ended < 0 || header.ended > 1)
    return Status(Code::invalid_data, "the saved session has impossible counters");
  RUNNEL_TRY(node_->restore(from.subspan(sizeof(header))));
  taken_ = header.taken;
  next_ = header.next;
  ended_ = header.ended != 0;
  return {};
}

Result<std::unique_ptr<FrameSession>> FrameSession::clone() {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, save());
  RUNNEL_ASSIGN(auto other, make(model_));
  RUNNEL_TRY(other->restore(bytes));
  return other;
}

}  // namespace runnel::sessions
