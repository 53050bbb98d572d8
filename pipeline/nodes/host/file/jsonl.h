// Events as JSON lines (docs/pipeline.md, events).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/host/output_file.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/act/event_record.h"

namespace runnel::pipeline {

// Writes to standard output, each line as soon as the event comes, or to a file that appears when the run has
// succeeded.
class Jsonl final : public Node {
 public:
  static const NodeType type;

  std::string_view path;    // empty: standard output
  std::string_view source;  // empty: the name of the recording or device
  // For programs that collect records themselves: receives each line, without the newline, instead of the
  // standard output.
  std::function<void(std::string_view)> sink;

  // Changes the name in the records, for graphs that read several recordings in turn.
  void name_source(std::string_view name);

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status gap(const Gap& gap) noexcept override;
  Status finish() noexcept override;

 private:
  Status write(std::string line);

  OutputFile file_;
  EventRecords records_;
};

}  // namespace runnel::pipeline
