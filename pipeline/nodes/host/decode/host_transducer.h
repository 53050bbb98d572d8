// `transducer` on hosts: reads tokens and hotwords from files.
#pragma once

#include <memory>

#include "decoding/host/search_tables.h"
#include "pipeline/nodes/decode/transducer.h"

namespace runnel::pipeline {

// What the parameters of a node name.
decoding::SearchFiles search_files_of(const Transducer& transducer, std::span<const std::string_view> labels);

class HostTransducer final : public Transducer {
 public:
  static const NodeType type;

 protected:
  Status read_tables(NodeContext& context, std::int32_t classes) noexcept override;

 private:
  std::unique_ptr<const decoding::OwnedSearchTables> owned_;
};

}  // namespace runnel::pipeline
