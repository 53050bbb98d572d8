// A sink that keeps what it gets in memory, for the program that runs the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/node.h"
#include "pipeline/nodes/host/act/event_record.h"

namespace runnel::arrays {

// Frames in a row with consecutive indices; a gap begins another one.
struct Run {
  std::size_t row = 0;     // of its first frame among those collected
  std::int64_t first = 0;  // index of that frame
};

struct Collected {
  std::int64_t frames = 0;
  std::vector<std::byte> data;  // [frames][channels], in the type of the format
  std::vector<Run> runs;
  std::vector<std::string> records;  // events and gaps as the lines of JSON that `jsonl` writes
};

// `collect`. Graphs on several threads call it in one of them while the program takes from it in another:
// what is collected is behind a lock.
class Collect final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;

  // Of what it gets; valid as long as the graph.
  [[nodiscard]] const pipeline::Format& format() const noexcept { return format_; }
  // What came since the last call. Thread-safe.
  [[nodiscard]] Collected take();

  Status prepare(pipeline::NodeContext& context) noexcept override;
  Status process(const pipeline::Block& in, pipeline::Output& out) noexcept override;
  Status gap(const pipeline::Gap& gap) noexcept override;

 private:
  Status keep(const pipeline::Block& in);

  pipeline::Format format_;
  pipeline::EventRecords records_;
  std::mutex mutex_;
  Collected collected_;
  std::int64_t next_ = -1;  // index of the frame that would continue the last run
};

}  // namespace runnel::arrays
