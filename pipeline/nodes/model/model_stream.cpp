#include "pipeline/nodes/model/model_stream.h"

#include <algorithm>

#include "base/checked.h"

namespace runnel::pipeline {

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
                        ValueConverter in, ValueConverter out) noexcept {
  session_ = session;
  shape_ = shape;
  in_ = in;
  out_ = out;
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
  return grid_ = first_on_grid(shape_, first, skip_);
}

// A frame of the pipeline is dense; in the model, dimensions
// may precede time (channels first), and a frame is then spread over that many rows.
void ModelStream::store(const std::byte* frames, std::int64_t count) noexcept {
  std::byte* block = session_.input(0).data();
  const auto outer = static_cast<std::int64_t>(shape_.in.outer);
  const std::int64_t runs = outer == 1 ? 1 : count * outer;
  const std::int64_t values = outer == 1 ? count * shape_.in_values : shape_.in_values / outer;
  const std::size_t value_bytes = shape_.in_bytes / static_cast<std::size_t>(shape_.in_values);
  for (std::int64_t i = 0; i < runs; ++i) {
    const std::int64_t place = (i % outer) * session_.prepared().block() + pending_ + i / outer;
    in_.run(in_.self, frames + static_cast<std::size_t>(i * values) * value_bytes, values,
            block + static_cast<std::size_t>(place) * shape_.in.inner_bytes);
  }
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
    store(in.data + static_cast<std::size_t>(done) * shape_.in_bytes, count);
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

}  // namespace runnel::pipeline
