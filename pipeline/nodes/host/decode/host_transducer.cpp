#include "pipeline/nodes/host/decode/host_transducer.h"

namespace runnel::pipeline {

// Replaces `transducer` under the same name.
const NodeType HostTransducer::type = [] {
  NodeType copy = Transducer::type;
  copy.make = make_node<HostTransducer>;
  return copy;
}();

Status HostTransducer::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  decoding::SearchFiles files;
  files.tokens = tokens;
  files.labels.assign(context.input.labels.begin(), context.input.labels.end());
  files.units = units;
  files.blank = blank;
  files.hotwords = hotwords;
  files.hotword_score = hotword_score;
  RUNNEL_ASSIGN(owned_, decoding::OwnedSearchTables::read(files, classes, joiner));
  tables = &owned_->tables();
  return {};
}

}  // namespace runnel::pipeline
