// The node infer with times by operator: what a program made with --counters has in its place. `Base` is a
// node that runs a model: Infer, RomInfer, or one of embed/cores.
#pragma once

#include <type_traits>

#include "embed/measure/operator_times.h"
#include "pipeline/nodes/model/infer.h"

namespace runnel::embed {

template <class Base>
class Timed final : public Base {
 public:
  Status prepare(pipeline::NodeContext& context) noexcept override {
    RUNNEL_TRY(Base::prepare(context));
    return times_.prepare(context.memory, this->prepared());
  }
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override {
    Measures* const measures = times_.measures();
    if (measures == nullptr) return Base::process(in, out);
    const std::uint32_t start = measures->now();
    run(in, out);
    measures->add(times_.stage(), measures->since(start));
    return {};
  }
  Status flush(pipeline::Output& out) noexcept override {
    Measures* const measures = times_.measures();
    if (measures == nullptr) return Base::flush(out);
    const std::uint32_t start = measures->now();
    const Status status = Base::flush(out);
    measures->add_flush(times_.stage(), measures->since(start));
    return status;
  }
  [[nodiscard]] OperatorTimes& times() noexcept { return times_; }

 private:
  // As process() of the node itself, with an observed run.
  void run(const pipeline::Block& in, pipeline::Output& out) noexcept {
    if constexpr (std::is_base_of_v<pipeline::Infer, Base>) {
      if (this->streamed() == nullptr) return run_stepped(in, out);
    }
    pipeline::ModelStream& stream = this->stream();
    Session session = stream.session();
    const std::int64_t block = session.prepared().block();
    for (std::int64_t done = stream.skip(in.count); done < in.count;) {
      const std::int64_t room = block - stream.pending(), left = in.count - done,
                         count = left < room ? left : room;
      stream.store(in.data + static_cast<std::size_t>(done) * this->frame_bytes(), count);
      done += count;
      if (stream.pending() < block) continue;
      times_.run(session, block);
      stream.collect(out);
    }
  }
  void run_stepped(const pipeline::Block& in, pipeline::Output& out) noexcept {
    SteppedSession& stepped = this->stepped();
    for (std::int64_t done = 0; done < in.count;) {
      done += this->take(in.data + static_cast<std::size_t>(done) * this->frame_bytes(), in.count - done);
      if (!stepped.due()) continue;
      stepped.begin_run();
      times_.run(stepped.session(), this->prepared().block());
      stepped.end_run();
      this->give(out);
    }
  }

  OperatorTimes times_;
};

}  // namespace runnel::embed
