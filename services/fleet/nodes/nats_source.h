// The samples of one stream of a fleet.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "pipeline/nodes/host/live/live_source.h"
#include "services/fleet/chunk.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/nodes/nats_node.h"

namespace runnel::fleet {

// Gives one run of the stream: the newest that the log has, or the next one that begins, and ends with it,
// also when a later run begins. What came twice is dropped, what is missing is a gap of the exact length. A
// chunk that cannot be used is counted, and named in the note at the end.
class NatsSource final : public NatsNode<pipeline::Node>, public pipeline::LiveSource {
 public:
  static const pipeline::NodeType type;
  static constexpr std::int64_t kMostGapSeconds = 3600;

  std::string_view stream;
  std::string_view log = "RUNNEL_INPUT";
  std::string_view from = "start";
  double wait = 60;  // s

  ~NatsSource() override;
  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  Text note() const noexcept override;
  pipeline::CaptureFacts capture_facts() const override;
  std::int64_t waited_nanoseconds() const noexcept override { return waited_; }

 private:
  Status find_run(const std::atomic<bool>* stop);
  bool take(Message& message);
  [[nodiscard]] bool stopped() const noexcept { return stop_ != nullptr && stop_->load(); }

  std::unique_ptr<JetStream> exchange_;
  const std::atomic<bool>* stop_ = nullptr;
  std::string name_;
  std::uint64_t feed_ = 0, run_ = 0;
  bool begun_ = false, ended_ = false;
  serve::SampleFormat format_;
  std::int64_t next_ = 0, lost_now_ = 0;  // of the samples that are given next
  std::vector<std::byte> piece_;
  std::size_t given_ = 0;  // bytes of it
  std::int64_t waited_ = 0, lost_ = 0, gaps_ = 0, doubled_ = 0, refused_ = 0;
  std::string refused_why_;
  std::int64_t origin_ = pipeline::Format::kNoOrigin;
};

}  // namespace runnel::fleet
