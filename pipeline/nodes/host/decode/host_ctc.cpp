#include "pipeline/nodes/host/decode/host_ctc.h"

namespace runnel::pipeline {

// Replaces `ctc` under the same name.
const NodeType HostCtc::type = [] {
  NodeType copy = Ctc::type;
  copy.make = make_node<HostCtc>;
  return copy;
}();

decoding::SearchFiles search_files_of(const Ctc& ctc, std::span<const std::string_view> labels) {
  decoding::SearchFiles files;
  files.tokens = ctc.tokens;
  files.labels.assign(labels.begin(), labels.end());
  files.units = ctc.units;
  files.blank = ctc.blank;
  files.lexicon = ctc.lexicon;
  files.grammar = ctc.grammar;
  files.hotwords = ctc.hotwords;
  files.hotword_score = ctc.hotword_score;
  return files;
}

Status HostCtc::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  RUNNEL_ASSIGN(owned_, decoding::OwnedSearchTables::read(search_files_of(*this, context.input.labels),
                                                          classes, context.input_label));
  tables = &owned_->tables();
  return {};
}

}  // namespace runnel::pipeline
