#include "inference/stepped_session.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/crc32c.h"

namespace runnel {
namespace {

constexpr std::size_t kStateAlignment = 16;

// What precedes the saved bytes of a session.
struct SavedCounters {
  char magic[4] = {'R', 'N', 'L', 'T'};
  std::uint32_t crc32c = 0;  // of all that follows these two
  std::int64_t filled = 0, fresh = 0, skip = 0, left = 0;
  std::uint8_t ran = 0, over = 0, finished = 0, zeros[5] = {};
};
constexpr std::size_t kUnderChecksum = sizeof(SavedCounters) - offsetof(SavedCounters, filled);

template <class Visit>
void for_each_pair(const ModelUsage& usage, const Model& model, Visit visit) noexcept {
  std::size_t offset = 0;
  for (std::uint32_t k = 0; usage.pairs != nullptr && k < usage.pairs->size(); ++k) {
    const fb::StatePair& pair = *usage.pairs->Get(k);
    const TensorView input = model.tensor(pair.input());
    visit(pair, input, offset);
    offset += align_up(input.bytes(), kStateAlignment);
  }
}

int position_of(const Model& model, int tensor) noexcept {
  const auto inputs = model.inputs();
  return static_cast<int>(std::find(inputs.begin(), inputs.end(), tensor) - inputs.begin());
}

}  // namespace

PrepareOptions prepare_options(const Model& model, const ModelUsage& usage, PrepareOptions options) noexcept {
  options.mode = RunMode::whole;
  options.frames = model.plan() != nullptr ? usage.frames : 0;
  return options;
}

Result<SteppedSession> SteppedSession::make(const Prepared& prepared, const ModelUsage& usage,
                                            Memory& memory) noexcept {
  RUNNEL_ASSIGN(Workspace * workspace, Workspace::make(prepared, memory));
  auto* state = static_cast<std::byte*>(memory.allocate(prepared.state_bytes(), 64));
  if (state == nullptr) {
    return Status(Code::out_of_memory)
           << "a session of usage " << name_of(usage.kind) << " needs " << prepared.state_bytes() << " bytes";
  }
  RUNNEL_ASSIGN(const Session session, Session::make(prepared, *workspace, {state, prepared.state_bytes()}));
  return make(session, usage, memory);
}

Result<SteppedSession> SteppedSession::make(const Session& session, const ModelUsage& usage,
                                            Memory& memory) noexcept {
  const Model& model = session.prepared().model();
  SteppedSession made;
  made.session_ = session;
  made.usage_ = usage;
  made.input_ = model.tensor(model.inputs()[static_cast<std::size_t>(usage.input)]);
  made.frame_bytes_ = static_cast<std::size_t>(usage.frame_values) * size_of(made.input_.dtype);
  std::size_t states = 0, frames = 0;
  for_each_pair(usage, model, [&](const fb::StatePair&, const TensorView& input, std::size_t offset) {
    states = offset + input.bytes();
  });
  if (!checked_mul(made.frame_bytes_, static_cast<std::size_t>(usage.frames), frames))
    return Status(Code::invalid_argument, "the frames of a run do not fit into memory");
  made.states_bytes_ = states;
  made.kept_ = static_cast<std::byte*>(memory.allocate(frames, 64));
  made.states_ = states == 0 ? nullptr : static_cast<std::byte*>(memory.allocate(states, kStateAlignment));
  if (made.kept_ == nullptr || (states > 0 && made.states_ == nullptr)) {
    return Status(Code::out_of_memory)
           << "a session of usage " << name_of(usage.kind) << " needs " << frames + states << " bytes";
  }
  made.reset();
  return made;
}

// Zeros in real numbers, which may be other integers.
void SteppedSession::zero(const TensorView& tensor, std::byte* to, std::int64_t values) const noexcept {
  const std::int32_t point = tensor.zero_point();
  const auto count = static_cast<std::size_t>(values);
  if (size_of(tensor.dtype) == 1)
    std::memset(to, static_cast<std::uint8_t>(point), count);
  else if (tensor.dtype == DType::int16)
    std::fill_n(reinterpret_cast<std::int16_t*>(to), count, static_cast<std::int16_t>(point));
  else if (tensor.dtype == DType::int32)
    std::fill_n(reinterpret_cast<std::int32_t*>(to), count, point);
  else
    std::memset(to, 0, count * size_of(tensor.dtype));
}

void SteppedSession::reset() noexcept {
  session_.reset();
  filled_ = usage_.context;
  fresh_ = skip_ = left_ = 0;
  ran_ = over_ = finished_ = false;
  zero(input_, kept_, filled_ * usage_.frame_values);
  for_each_pair(usage_, session_.prepared().model(),
                [&](const fb::StatePair&, const TensorView& input, std::size_t offset) {
                  zero(input, states_ + offset, input.shape.elements());
                });
}

std::int64_t SteppedSession::skip(std::int64_t count) noexcept {
  const std::int64_t dropped = over_ ? count : std::min(skip_, count);
  if (!over_) skip_ -= dropped;
  return dropped;
}

void SteppedSession::written(std::int64_t count) noexcept {
  filled_ += count;
  fresh_ += count;
}

// With dimensions before time (channels first), a frame is spread over that many rows.
void SteppedSession::place_input() noexcept {
  std::byte* to = session_.input(usage_.input).data();
  const FrameLayout& layout = usage_.layout;
  const auto frames = static_cast<std::size_t>(usage_.frames);
  if (layout.outer == 1) {
    std::memcpy(to, kept_, frames * frame_bytes_);
    return;
  }
  for (std::size_t row = 0; row < layout.outer; ++row) {
    for (std::size_t frame = 0; frame < frames; ++frame) {
      std::memcpy(to + (row * frames + frame) * layout.inner_bytes,
                  kept_ + frame * frame_bytes_ + row * layout.inner_bytes, layout.inner_bytes);
    }
  }
}

void SteppedSession::run() noexcept {
  begin_run();
  session_.run(session_.prepared().block());
  end_run();
}

void SteppedSession::begin_run() noexcept {
  const Model& model = session_.prepared().model();
  if (usage_.kind != UsageKind::step) session_.reset();
  place_input();
  for_each_pair(usage_, model, [&](const fb::StatePair& pair, const TensorView& input, std::size_t offset) {
    std::memcpy(session_.input(position_of(model, pair.input())).data(), states_ + offset, input.bytes());
  });
}

void SteppedSession::end_run() noexcept {
  for_each_pair(usage_, session_.prepared().model(),
                [&](const fb::StatePair& pair, const TensorView& input, std::size_t offset) {
                  std::memcpy(states_ + offset, session_.tensor(pair.output()).data(), input.bytes());
                });
  ran_ = true;
  fresh_ = 0;
  over_ = usage_.kind == UsageKind::whole;
  filled_ = std::max<std::int64_t>(usage_.frames - usage_.advance, 0);
  skip_ = std::max<std::int64_t>(usage_.advance - usage_.frames, 0);
  std::memmove(kept_, kept_ + static_cast<std::size_t>(usage_.frames - filled_) * frame_bytes_,
               static_cast<std::size_t>(filled_) * frame_bytes_);
  left_ -= usage_.advance;
  if (finished_ && left_ > 0) fill_up();
}

// Zeros in place of frames that do not come any more: a run is due.
void SteppedSession::fill_up() noexcept {
  zero(input_, room(), (usage_.frames - filled_) * usage_.frame_values);
  filled_ = usage_.frames;
}

void SteppedSession::finish() noexcept {
  if (finished_ || over_) return;
  finished_ = true;
  if (usage_.look_ahead > 0) {
    left_ = filled_ - usage_.context;
    if (left_ > 0) fill_up();
    return;
  }
  if (fresh_ == 0 || (ran_ && usage_.kind != UsageKind::step)) return;
  fill_up();
}

std::size_t SteppedSession::saved_bytes() const noexcept {
  return sizeof(SavedCounters) + session_.saved_bytes() +
         static_cast<std::size_t>(usage_.frames) * frame_bytes_ + states_bytes_;
}

Status SteppedSession::save(std::span<std::byte> to) const noexcept {
  if (to.size() < saved_bytes())
    return Status(Code::out_of_memory)
           << "saving a stream needs " << saved_bytes() << " bytes, given " << to.size();
  const std::size_t kept = static_cast<std::size_t>(usage_.frames) * frame_bytes_;
  std::byte* at = to.data() + sizeof(SavedCounters);
  RUNNEL_TRY(session_.save({at, session_.saved_bytes()}));
  at += session_.saved_bytes();
  std::memset(at, 0, kept);  // what was never written there is nobody's business
  std::memcpy(at, kept_, static_cast<std::size_t>(filled_) * frame_bytes_);
  if (states_bytes_ > 0) std::memcpy(at + kept, states_, states_bytes_);
  SavedCounters counters;
  counters.filled = filled_;
  counters.fresh = fresh_;
  counters.skip = skip_;
  counters.left = left_;
  counters.ran = ran_ ? 1 : 0;
  counters.over = over_ ? 1 : 0;
  counters.finished = finished_ ? 1 : 0;
  std::memcpy(to.data(), &counters, sizeof(counters));
  const std::uint32_t sum =
      crc32c(std::span<const std::byte>(to.data() + sizeof(SavedCounters) - kUnderChecksum,
                                        saved_bytes() - sizeof(SavedCounters) + kUnderChecksum));
  std::memcpy(to.data() + offsetof(SavedCounters, crc32c), &sum, sizeof(sum));
  return {};
}

Status SteppedSession::restore(std::span<const std::byte> from) noexcept {
  if (from.size() != saved_bytes())
    return Status(Code::invalid_data)
           << "a saved stream of " << from.size() << " bytes, expected " << saved_bytes();
  SavedCounters counters;
  std::memcpy(&counters, from.data(), sizeof(counters));
  if (std::memcmp(counters.magic, SavedCounters().magic, sizeof(counters.magic)) != 0)
    return Status(Code::invalid_data, "not a saved stream of a model that runs in steps");
  if (crc32c(from.subspan(sizeof(SavedCounters) - kUnderChecksum)) != counters.crc32c)
    return Status(Code::invalid_data, "the saved stream is damaged: its checksum does not match");
  // A checksum is no proof: what could lead outside of the frames is checked as well.
  const bool within = counters.filled >= 0 && counters.filled <= usage_.frames && counters.fresh >= 0 &&
                      counters.fresh <= usage_.frames && counters.skip >= 0 &&
                      counters.skip <= usage_.advance && counters.left <= usage_.frames;
  if (!within) return Status(Code::invalid_data, "the saved stream has impossible counters");
  const std::size_t kept = static_cast<std::size_t>(usage_.frames) * frame_bytes_;
  const std::byte* at = from.data() + sizeof(SavedCounters);
  RUNNEL_TRY(session_.restore({at, session_.saved_bytes()}));
  at += session_.saved_bytes();
  std::memcpy(kept_, at, kept);
  if (states_bytes_ > 0) std::memcpy(states_, at + kept, states_bytes_);
  filled_ = counters.filled;
  fresh_ = counters.fresh;
  skip_ = counters.skip;
  left_ = counters.left;
  ran_ = counters.ran != 0;
  over_ = counters.over != 0;
  finished_ = counters.finished != 0;
  return {};
}

}  // namespace runnel
