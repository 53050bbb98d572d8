#include "pipeline/nodes/model/model_stream.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/crc32c.h"

namespace runnel::pipeline {
namespace {

// What precedes the saved bytes of a session.
struct SavedCounters {
  std::int64_t skip = 0, grid = 0, pending = 0, stored = 0;
  std::uint8_t heard = 0, ended = 0, zeros[6] = {};
  std::uint64_t crc32c = 0;  // of what comes before it, and of the frames that wait
};

}  // namespace

Result<Session> ModelStream::make_session(NodeContext& context, const Prepared& prepared) noexcept {
  Memory& fast = context.fast.memory != nullptr ? *context.fast.memory : context.memory;
  RUNNEL_ASSIGN(const std::span<Workspace> workspaces,
                Workspace::make_many(prepared, 1, fast, context.memory));
  Memory& of_state = prepared.state_tier() == Tier::fast ? fast : context.memory;
  auto* state = static_cast<std::byte*>(of_state.allocate(prepared.state_bytes(), prepared.alignment()));
  if (state == nullptr) return out_of_memory("the state of the session");
  return Session::make(prepared, workspaces.front(), {state, prepared.state_bytes()});
}

void ModelStream::start(NodeContext& context, const Session& session, const ModelStreamShape& shape,
                        ValueConverter in, ValueConverter out, Bypass* bypass) noexcept {
  session_ = session;
  shape_ = shape;
  in_ = in;
  out_ = out;
  bypass_ = bypass;
  // A frame keeps the span of the input frame at its position: the context of a model is not part of an
  // event's span.
  context.output.clock = context.input.clock.every(shape.up, shape.down);
  const std::int64_t block = session.prepared().block();
  context.max_output = ceil_div(context.max_input + block - 1, block) * shape.out_frames;
}

std::int64_t first_on_grid(const ModelStreamShape& shape, std::int64_t first, std::int64_t& skip) noexcept {
  const std::int64_t start = ceil_div(first, shape.down);
  skip = start * shape.down - first;
  return start * shape.up;
}

std::int64_t ModelStream::reset(std::int64_t first) noexcept {
  session_.reset();
  pending_ = 0;
  heard_ = ended_ = false;
  if (bypass_ != nullptr) bypass_->reset();
  return grid_ = first_on_grid(shape_, first, skip_);
}

// A frame of the pipeline is dense; in the model, dimensions
// may precede time (channels first), and a frame is then spread over that many rows. `place`: of the first
// frame in the block.
void ModelStream::convert(const std::byte* frames, std::int64_t count, std::int64_t place) noexcept {
  std::byte* block = session_.input(0).data();
  const auto outer = static_cast<std::int64_t>(shape_.in.outer);
  const std::int64_t runs = outer == 1 ? 1 : count * outer;
  const std::int64_t values = outer == 1 ? count * shape_.in_values : shape_.in_values / outer;
  const std::size_t value_bytes = shape_.in_bytes / static_cast<std::size_t>(shape_.in_values);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t at = (i % outer) * session_.prepared().block() + place + i / outer;
    in_.run(in_.self, frames + static_cast<std::size_t>(i * values) * value_bytes, values,
            block + static_cast<std::size_t>(at) * shape_.in.inner_bytes);
  }
}

void ModelStream::store(const std::byte* frames, std::int64_t count) noexcept {
  if (bypass_ == nullptr)
    convert(frames, count, pending_);
  else
    bypass_->store(*this, frames, count);
  pending_ += count;
  heard_ = true;
}

void ModelStream::run(Output& out) noexcept {
  session_.run(pending_);
  collect(out);
}

void ModelStream::collect(Output& out) noexcept {
  pending_ = 0;
  OutputFrames frames = session_.output(shape_.position);
  if (bypass_ != nullptr) return bypass_->collect(*this, frames, out);
  frames.first += grid_;
  copy_out(shape_, out_, frames, out);
}

void copy_out(const ModelStreamShape& shape, const ValueConverter& convert, const OutputFrames& frames,
              Output& out) noexcept {
  if (frames.count == 0) return;
  if (out.count == 0) out.first = frames.first;
  std::byte* to = out.data + static_cast<std::size_t>(out.count) * shape.out_bytes;
  const auto outer = static_cast<std::int64_t>(shape.out.outer);
  const std::int64_t runs = outer == 1 ? 1 : frames.count * outer;
  const std::int64_t values = outer == 1 ? frames.count * shape.out_values : shape.out_values / outer;
  const std::size_t value_bytes = shape.out_bytes / static_cast<std::size_t>(shape.out_values);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * shape.out_frames + frames.offset + i / outer;
    convert.run(convert.self, frames.block + static_cast<std::size_t>(place) * shape.out.inner_bytes, values,
                to + static_cast<std::size_t>(i * values) * value_bytes);
  }
  out.count += frames.count;
}

std::int64_t ModelStream::skip(std::int64_t count) noexcept {
  const std::int64_t done = std::min(skip_, count);
  skip_ -= done;
  return done;
}

void ModelStream::process(const Block& in, Output& out) noexcept {
  std::int64_t done = skip(in.count);
  const std::int64_t block = session_.prepared().block();
  while (done < in.count) {
    const std::int64_t count = std::min(block - pending_, in.count - done);
    store(in.data + static_cast<std::size_t>(done) * frame_bytes(), count);
    done += count;
    if (pending_ == block) run(out);
  }
}

// One run per call: first the pending frames, as a partly valid block, then empty ones.
void ModelStream::flush(Output& out) noexcept {
  if (!heard_) {
    out.end = true;
    return;
  }
  if (!ended_ || session_.flush_calls_left() > 0) run(out);
  ended_ = true;
  out.end = session_.flush_calls_left() <= 0;
  if (out.end) heard_ = false;
}

// Frames that wait are in the input of the session, which is not part of its state where it lies in the
// arena.
std::size_t ModelStream::waiting_bytes() const noexcept {
  const Prepared& prepared = session_.prepared();
  return prepared.placement(prepared.tables().inputs[0]).bytes;
}

std::size_t ModelStream::saved_bytes() const noexcept {
  return sizeof(SavedCounters) + waiting_bytes() + (bypass_ == nullptr ? 0 : bypass_->saved_bytes()) +
         session_.saved_bytes();
}

void ModelStream::copy_waiting(const std::byte* from, std::byte* to) const noexcept {
  const std::size_t inner = shape_.in.inner_bytes,
                    row = static_cast<std::size_t>(session_.prepared().block()) * inner;
  for (std::size_t r = 0; r < static_cast<std::size_t>(shape_.in.outer); ++r)
    std::memcpy(to + r * row, from + r * row, static_cast<std::size_t>(pending_) * inner);
}

Status ModelStream::save(std::span<std::byte> to) noexcept {
  if (to.size() < saved_bytes())
    return Status(Code::out_of_memory)
           << "saving a stream needs " << saved_bytes() << " bytes, given " << to.size();
  const std::size_t waiting = saved_bytes() - sizeof(SavedCounters) - session_.saved_bytes();
  SavedCounters counters;
  counters.skip = skip_;
  counters.grid = grid_;
  counters.pending = pending_;
  counters.heard = heard_ ? 1 : 0;
  counters.ended = ended_ ? 1 : 0;
  std::byte* const frames = to.data() + sizeof(counters);
  // Only the frames that wait: the rest of the block is what others left in the arena.
  std::memset(frames, 0, waiting);
  // Asking for the input would begin a block, whose size is not known yet.
  if (pending_ > 0) copy_waiting(session_.input(0).data(), frames);
  if (bypass_ != nullptr) counters.stored = bypass_->save(frames + waiting_bytes());
  counters.crc32c = crc32c(std::as_bytes(std::span(&counters, 1)).first(offsetof(SavedCounters, crc32c)),
                           crc32c({frames, waiting}));
  std::memcpy(to.data(), &counters, sizeof(counters));
  return session_.save({frames + waiting, session_.saved_bytes()});
}

Status ModelStream::restore(std::span<const std::byte> from) noexcept {
  if (from.size() != saved_bytes())
    return Status(Code::invalid_data)
           << "a saved stream of " << from.size() << " bytes, expected " << saved_bytes();
  SavedCounters counters;
  std::memcpy(&counters, from.data(), sizeof(counters));
  const std::size_t bytes = from.size() - sizeof(counters) - session_.saved_bytes();
  const std::span<const std::byte> frames = from.subspan(sizeof(counters), bytes);
  const std::uint32_t sum =
      crc32c(std::as_bytes(std::span(&counters, 1)).first(offsetof(SavedCounters, crc32c)), crc32c(frames));
  if (counters.crc32c != sum)
    return Status(Code::invalid_data, "the saved stream is damaged: its checksum does not match");
  if (counters.skip < 0 || counters.pending < 0 || counters.pending >= session_.prepared().block() ||
      counters.grid < 0 || counters.stored < counters.pending * (bypass_ == nullptr ? 0 : 1))
    return Status(Code::invalid_data, "the saved stream has impossible counters");
  RUNNEL_TRY(session_.restore(from.subspan(sizeof(counters) + bytes)));
  skip_ = counters.skip;
  grid_ = counters.grid;
  pending_ = counters.pending;
  if (pending_ > 0) copy_waiting(frames.data(), session_.input(0).data());
  if (bypass_ != nullptr) bypass_->restore(counters.stored, frames.data() + waiting_bytes());
  heard_ = counters.heard != 0;
  ended_ = counters.ended != 0;
  return {};
}

}  // namespace runnel::pipeline
