// Self-test: compares a model's results with its test vectors, block by block if it can be streamed,
// else at once.
#include <cstring>

#include "embed/node.h"
#include "inference/session.h"

using namespace runnel;
using namespace runnel::embed;

namespace {

constexpr float kTolerance = 1e-4F;  // for floats: the tool that made the vectors may sum in another order

const fb::VectorTensor* find(const flatbuffers::Vector<flatbuffers::Offset<fb::VectorTensor>>& values,
                             int tensor) noexcept {
  for (const fb::VectorTensor* value : values) {
    if (value->tensor() == tensor) return value;
  }
  return nullptr;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The byte at which the first value that differs begins; kNone: there is none.
std::size_t first_difference(DType type, const std::byte* expected, const std::byte* found,
                             std::size_t bytes) noexcept {
  const std::size_t size = size_of(type);
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    if (type != DType::float32) {
      if (std::memcmp(expected + at, found + at, size) != 0) return at;
      continue;
    }
    float a = 0, b = 0;
    std::memcpy(&a, expected + at, sizeof a);
    std::memcpy(&b, found + at, sizeof b);
    const float difference = a < b ? b - a : a - b, magnitude = a < 0 ? -a : a;
    if (!(difference <= kTolerance * (magnitude > 1 ? magnitude : 1))) return at;
  }
  return kNone;
}

template <class Integer>
std::int64_t integer_at(const std::byte* at) noexcept {
  Integer value = 0;
  std::memcpy(&value, at, sizeof value);
  return static_cast<std::int64_t>(value);
}
// ": 7, expected 5" for integers; nothing for floats, whose digits a device does not print.
void append_values(Status& status, DType type, const std::byte* expected, const std::byte* found) noexcept {
  std::int64_t (*const value)(const std::byte*) noexcept = type == DType::int8    ? integer_at<std::int8_t>
                                                           : type == DType::uint8 ? integer_at<std::uint8_t>
                                                           : type == DType::int16 ? integer_at<std::int16_t>
                                                           : type == DType::int32 ? integer_at<std::int32_t>
                                                                                  : nullptr;
  if (value != nullptr) status << ": " << value(found) << ", expected " << value(expected);
}

// As run_vectors() prepared it: can_stream() below.
bool streams(const Model& model, const Prepared& prepared) noexcept {
  return model.inputs().size() == 1 && prepared.mode() == RunMode::stream;
}

class Test {
 public:
  Test(const Model& model, const fb::VectorCase& one, int number) noexcept
      : model_(model), case_(one), number_(number) {}

  Status run(const Prepared& prepared, Session& session) noexcept {
    session.reset();
    return streams(model_, prepared) ? run_streamed(prepared, session) : run_whole(prepared, session);
  }

 private:
  Status place() const noexcept { return Status(Code::mismatch) << "vector " << number_ << ": "; }

  Status run_whole(const Prepared& prepared, Session& session) noexcept {
    for (std::size_t i = 0; i < model_.inputs().size(); ++i) {
      const fb::VectorTensor* value = find(*case_.inputs(), model_.inputs()[i]);
      const std::span<std::byte> to = session.input(static_cast<int>(i));
      if (value == nullptr || value->data()->size() != to.size())
        return place() << "input " << i << " is missing or of another size";
      std::memcpy(to.data(), value->data()->data(), to.size());
    }
    session.run(prepared.block());
    for (std::size_t i = 0; i < model_.outputs().size(); ++i) {
      const int tensor = model_.outputs()[i];
      const fb::VectorTensor* value = find(*case_.outputs(), tensor);
      if (value == nullptr) continue;
      const OutputFrames frames = session.output(static_cast<int>(i));
      const auto* expected = reinterpret_cast<const std::byte*>(value->data()->data());
      if (value->data()->size() != prepared.placement(tensor).bytes)
        return place() << "output " << i << " has another size than expected";
      const DType type = model_.tensor(tensor).dtype;
      if (const std::size_t at = first_difference(type, expected, frames.block, value->data()->size());
          at != kNone) {
        Status status = place() << "output " << i << " differs at value " << at / size_of(type);
        append_values(status, type, expected + at, frames.block + at);
        return status;
      }
    }
    return {};
  }

  Status run_streamed(const Prepared& prepared, Session& session) noexcept {
    const int from = model_.inputs()[0];
    const fb::VectorTensor* value = find(*case_.inputs(), from);
    const Placement& in = prepared.placement(from);
    if (value == nullptr || value->data()->size() % in.frame_bytes != 0)
      return place() << "the input is missing or of another size";
    const auto frames = static_cast<std::int64_t>(value->data()->size() / in.frame_bytes);
    const auto* data = reinterpret_cast<const std::byte*>(value->data()->data());
    for (std::int64_t at = 0; at < frames; at += prepared.block()) {
      const std::int64_t valid = frames - at < prepared.block() ? frames - at : prepared.block();
      std::memcpy(session.input(0).data(), data + static_cast<std::size_t>(at) * in.frame_bytes,
                  static_cast<std::size_t>(valid) * in.frame_bytes);
      session.run(valid);
      RUNNEL_TRY(compare(prepared, session));
    }
    // If the recording is a multiple of the block, the end is known only now.
    do {
      session.run(0);
      RUNNEL_TRY(compare(prepared, session));
    } while (session.flush_calls_left() > 0);
    return complete(prepared);
  }

  Status compare(const Prepared& prepared, const Session& session) noexcept {
    for (std::size_t i = 0; i < model_.outputs().size() && i < kMaxOutputs; ++i) {
      const int tensor = model_.outputs()[i];
      const fb::VectorTensor* value = find(*case_.outputs(), tensor);
      const OutputFrames frames = session.output(static_cast<int>(i));
      if (value == nullptr || frames.count == 0) continue;
      const std::size_t frame_bytes = prepared.placement(tensor).frame_bytes,
                        at = static_cast<std::size_t>(frames.first) * frame_bytes,
                        bytes = static_cast<std::size_t>(frames.count) * frame_bytes;
      if (at + bytes > value->data()->size())
        return place() << "output " << i << " has more frames than expected";
      const DType type = model_.tensor(tensor).dtype;
      const auto* const expected = reinterpret_cast<const std::byte*>(value->data()->data()) + at;
      if (const std::size_t place_of = first_difference(type, expected, frames.data, bytes);
          place_of != kNone) {
        Status status = place() << "output " << i << " differs at frame "
                                << frames.first + static_cast<std::int64_t>(place_of / frame_bytes)
                                << ", value " << place_of % frame_bytes / size_of(type);
        append_values(status, type, expected + place_of, frames.data + place_of);
        return status;
      }
      compared_[i] += bytes;
    }
    return {};
  }

  Status complete(const Prepared&) const noexcept {
    for (std::size_t i = 0; i < model_.outputs().size() && i < kMaxOutputs; ++i) {
      const fb::VectorTensor* value = find(*case_.outputs(), model_.outputs()[i]);
      if (value != nullptr && compared_[i] != value->data()->size())
        return place() << "output " << i << " has fewer frames than expected";
    }
    return {};
  }

  static constexpr std::size_t kMaxOutputs = 8;
  const Model& model_;
  const fb::VectorCase& case_;
  int number_;
  std::size_t compared_[kMaxOutputs] = {};
};

// Both time axes come first, so that frames are contiguous and in the vector's order.
bool can_stream(const Model& model) noexcept {
  if (model.plan() == nullptr || model.inputs().size() != 1) return false;
  const auto in_front = [&](int tensor) {
    const int axis = model.plan()->tensors()->Get(static_cast<std::uint32_t>(tensor))->time_axis();
    return axis >= 0 && model.tensor(tensor).shape.product(0, axis) == 1;
  };
  bool all = in_front(model.inputs()[0]);
  for (const std::int32_t tensor : model.outputs()) all = all && in_front(tensor);
  return all;
}

Status run_vectors(const runnel_program& program, Memory& memory) noexcept {
  if (program.compiled)
    return Status(
        Code::not_found,
        "a compiled model has no test vectors: run runnel embed with --self-test and without --step");
  RUNNEL_ASSIGN(const Model model, Model::open(program.model.bytes()));
  if (model.vectors() == nullptr || model.vectors()->cases() == nullptr ||
      model.vectors()->cases()->size() == 0) {
    return Status(Code::not_found, "the program has no test vectors: run runnel embed with --self-test");
  }
  PrepareOptions options{.mode = can_stream(model) ? RunMode::stream : RunMode::whole, .slack = false};
  RUNNEL_ASSIGN(const Prepared* prepared, Prepared::make(model, program.operators, options, memory));
  RUNNEL_ASSIGN(Workspace * workspace, Workspace::make(*prepared, memory));
  auto* state = static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), prepared->alignment()));
  if (state == nullptr) return Status(Code::out_of_memory, "the state of the session");
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, {state, prepared->state_bytes()}));
  int number = 0;
  for (const fb::VectorCase* one : *model.vectors()->cases())
    RUNNEL_TRY(Test(model, *one, number++).run(*prepared, session));
  return {};
}

}  // namespace

runnel_code runnel_self_test(const runnel_program* program, const runnel_options* options) {
  if (const runnel_code code = check(program, options); code != RUNNEL_OK) return code;
  FixedMemory memory({static_cast<std::byte*>(options->memory), options->bytes});
  const Status status = run_vectors(*program, memory);
  if (status.code() == Code::mismatch) return fail(RUNNEL_SELF_TEST_FAILED, status.text());
  return fail(status);
}
