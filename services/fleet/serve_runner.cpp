#include "services/fleet/serve_runner.h"

#include <utility>

namespace runnel::fleet {
namespace {

class ServedRun final : public Run {
 public:
  ServedRun(std::unique_ptr<serve::Stream> stream, std::string_view name, std::uint32_t identity,
            std::int64_t first)
      : stream_(std::move(stream)), seal_{"RNLFLT01", identity} {
    stream_->begin(name, &lines_, first);
  }
  [[nodiscard]] serve::Stream& stream() noexcept { return *stream_; }
  void lose(std::int64_t samples) override { stream_->lose(samples); }
  Status end() override { return stream_->end(); }
  Result<std::vector<std::byte>> save() override {
    std::vector<std::byte> out(stream_->saved_bytes());
    RUNNEL_TRY(stream_->save(out, seal_));
    return out;
  }
  Status restore(std::span<const std::byte> from) override { return stream_->restore(from, seal_); }
  std::string take() override { return std::exchange(lines_, {}); }

 private:
  std::unique_ptr<serve::Stream> stream_;
  std::string lines_;
  Seal seal_;
};

}  // namespace

ServeRunner::ServeRunner(std::string around, const pipeline::GraphOptions& options, std::uint32_t identity,
                         std::size_t most)
    : around_(std::move(around)),
      shared_(most),
      nodes_(serve::served_nodes(options.nodes)),
      options_(options),
      identity_(identity) {
  options_.nodes = nodes_;
  options_.shared = &shared_;
  // Indices jump over what is lost: a gap costs nothing, however long it is.
  options_.on_gap = pipeline::OnGap::reset;
}

Result<std::unique_ptr<ServeRunner>> ServeRunner::make(std::string around,
                                                       const pipeline::GraphOptions& options,
                                                       std::uint32_t identity, std::size_t most) {
  std::unique_ptr<ServeRunner> out(new ServeRunner(std::move(around), options, identity, most));
  RUNNEL_ASSIGN(const auto trial, serve::Stream::make(out->around_, {}, out->options_));
  RUNNEL_TRY(trial->saveable());
  return out;
}

Result<std::unique_ptr<Run>> ServeRunner::start(std::string_view name, const serve::SampleFormat& format,
                                                std::int64_t first) {
  RUNNEL_ASSIGN(auto stream, serve::Stream::make(around_, format, options_));
  auto run = std::make_unique<ServedRun>(std::move(stream), name, identity_, first);
  return std::unique_ptr<Run>(std::move(run));
}

void ServeRunner::hear(std::span<Turn> turns) {
  const auto stream_of = [](const Turn& turn) -> serve::Stream& {
    return static_cast<ServedRun*>(turn.run)->stream();
  };
  for (const Turn& turn : turns) stream_of(turn).give(turn.samples);
  std::vector<serve::Together::Turn> steps;
  std::vector<Turn*> whose;
  for (;;) {
    steps.clear();
    whose.clear();
    for (Turn& turn : turns) {
      if (!turn.status.ok() || stream_of(turn).waiting() == 0) continue;
      steps.emplace_back(&stream_of(turn));
      whose.push_back(&turn);
    }
    if (steps.empty()) return;
    together_.step(steps);
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (!steps[i].status.ok()) whose[i]->status = steps[i].status;
  }
}

}  // namespace runnel::fleet
