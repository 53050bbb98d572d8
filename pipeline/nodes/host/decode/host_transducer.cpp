#include "pipeline/nodes/host/decode/host_transducer.h"

namespace runnel::pipeline {

// Replaces `transducer` under the same name.
const NodeType HostTransducer::type = [] {
  NodeType copy = Transducer::type;
  copy.make = make_node<HostTransducer>;
  return copy;
}();

decoding::SearchFiles search_files_of(const Transducer& transducer,
                                      std::span<const std::string_view> labels) {
  decoding::SearchFiles files;
  files.tokens = transducer.tokens;
  files.labels.assign(labels.begin(), labels.end());
  files.units = transducer.units;
  files.blank = transducer.blank;
  files.hotwords = transducer.hotwords;
  files.hotword_score = transducer.hotword_score;
  return files;
}

Status HostTransducer::read_tables(NodeContext& context, std::int32_t classes) noexcept {
  RUNNEL_ASSIGN(owned_, decoding::OwnedSearchTables::read(search_files_of(*this, context.input.labels),
                                                          classes, joiner));
  tables = &owned_->tables();
  return {};
}

}  // namespace runnel::pipeline
