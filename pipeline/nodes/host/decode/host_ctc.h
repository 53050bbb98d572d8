// `ctc` on hosts: reads tokens, lexicon, grammar and hotwords from files.
#pragma once

#include <memory>

#include "decoding/host/search_tables.h"
#include "pipeline/nodes/decode/ctc.h"

namespace runnel::pipeline {

// What the parameters of a node name.
decoding::SearchFiles search_files_of(const Ctc& ctc, std::span<const std::string_view> labels);

class HostCtc final : public Ctc {
 public:
  static const NodeType type;

 protected:
  Status read_tables(NodeContext& context, std::int32_t classes) noexcept override;

 private:
  std::unique_ptr<const decoding::OwnedSearchTables> owned_;
};

}  // namespace runnel::pipeline
