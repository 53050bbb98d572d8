// A sink that passes its input to the program that runs the graph: for a page or a view in a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pipeline/node.h"
#include "pipeline/nodes/host/act/event_record.h"

namespace runnel::pipeline {

class Watch;

// Called from the graph's thread, which waits for it.
class WatchListener {
 public:
  // Samples or frames as real numbers, watch.format().channels to a frame; `first` is the index of the first
  // frame.
  virtual void watched(const Watch& watch, std::span<const float> values, std::int64_t first) = 0;
  // `record`: the event as one line of JSON.
  virtual void watched(const Watch& watch, const Event& event, const std::string& record) = 0;
  // Samples of the source were lost; every watch reports it.
  virtual void lost(const Watch& watch, const Gap& gap, const std::string& record) = 0;

 protected:
  ~WatchListener() = default;
};

// Without a listener it ignores its input.
class Watch final : public Node {
 public:
  static const NodeType type;

  std::string_view what;  // for the listener: the role of this input

  // Adds a listener, which outlives the run.
  void listen(WatchListener& listener) { listeners_.push_back(&listener); }
  [[nodiscard]] const Format& format() const noexcept { return format_; }

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status gap(const Gap& gap) noexcept override;

 private:
  void tell(std::span<const float> values, std::int64_t first) const;

  std::vector<WatchListener*> listeners_;
  Format format_;
  EventRecords records_;
  std::vector<float> values_;  // of one block, where the input is not float32
};

}  // namespace runnel::pipeline
