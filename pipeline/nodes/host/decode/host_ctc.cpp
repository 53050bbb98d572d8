#include "pipeline/nodes/host/decode/host_ctc.h"

namespace runnel::pipeline {

// Replaces `ctc` under the same name.
const NodeType HostCtc::type = [] {
  NodeType copy = Ctc::type;
  copy.make = make_node<HostCtc>;
  return copy;
}();

Status HostCtc::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  decoding::SearchFiles files;
  files.tokens = tokens;
  files.labels.assign(context.input.labels.begin(), context.input.labels.end());
  files.units = units;
  files.blank = blank;
  files.lexicon = lexicon;
  files.grammar = grammar;
  files.hotwords = hotwords;
  files.hotword_score = hotword_score;
  RUNNEL_ASSIGN(owned_, decoding::OwnedSearchTables::read(files, classes, context.input_label));
  tables = &owned_->tables();
  return {};
}

}  // namespace runnel::pipeline
