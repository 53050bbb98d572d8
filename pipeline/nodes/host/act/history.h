// Keeps the latest seconds of the sound that passes, for later nodes that need earlier samples.
#pragma once

#include <vector>

#include "pipeline/node.h"

namespace runnel::pipeline {

// Notified of every new block; called in the graph's thread.
class HistoryListener {
 public:
  virtual Status heard() noexcept = 0;

 protected:
  ~HistoryListener() = default;
};

class History final : public Node {
 public:
  static const NodeType type;

  double seconds = 10;

  Status prepare(NodeContext& context) noexcept override;
  std::int64_t reset(std::int64_t first) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  template <class Archive>
  void state(Archive& archive) noexcept {  // base/state_archive.h
    archive.index(end_);
    archive.index(begin_, end_);
    archive.expect(end_ - begin_ <= capacity_, "the number of samples kept");
    for (std::int64_t at = begin_; at < end_ && archive.ok();) {
      const std::span<const float> part = piece(at, end_);
      archive.values(std::span(const_cast<float*>(part.data()), part.size()));  // its own
      at += static_cast<std::int64_t>(part.size()) / format_.channels;
    }
  }

  // Call before the first process(). The listener outlives the run.
  void tell(HistoryListener& listener) { listeners_.push_back(&listener); }
  [[nodiscard]] const Format& format() const noexcept { return format_; }
  // Samples [begin(), end()) are available. Indices at this point of the graph.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }
  // The samples from `from` on, as many as are contiguous, at most to `to`; begin() <= from < to <= end().
  [[nodiscard]] std::span<const float> piece(std::int64_t from, std::int64_t to) const noexcept;

 private:
  Format format_;
  std::int64_t capacity_ = 0;   // frames
  std::vector<float> samples_;  // frame i at i % capacity_
  std::int64_t begin_ = 0, end_ = 0;
  std::vector<HistoryListener*> listeners_;
};

}  // namespace runnel::pipeline
