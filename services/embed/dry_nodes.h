// The nodes of the program on this machine, as it will have them: front ends with constant tables, and the
// compiled model.
#pragma once

#include <list>
#include <span>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/memory.h"
#include "decoding/search_tables.h"
#include "features/fbank/fbank.h"
#include "features/microfrontend/microfrontend.h"
#include "inference/prepared.h"
#include "pipeline/executor.h"
#include "pipeline/host/text.h"

namespace runnel::embedding {

struct DryNodes {
  std::vector<pipeline::NodeText> nodes;
  const Prepared* compiled = nullptr;              // null: the model is interpreted
  int output = 0;                                  // tensor of the compiled model
  pipeline::Format gives;                          // of the compiled model's node
  const decoding::SearchTables* search = nullptr;  // of the decoder of speech
  bool counters = false;
  int cores = 1;
  bool passes = true;
  // What make_dry_nodes() has made: the nodes in order, and what is constant in the program. Constants are in
  // a memory of their own, which does not count.
  std::vector<const pipeline::Node*> made;
  std::list<features::Fbank> fbanks;
  std::list<features::Microfrontend> microfrontends;
  HeapMemory constants;
};

// What make_dry_nodes() makes while the object lives; there is one at a time.
class DryNodesInUse {
 public:
  explicit DryNodesInUse(DryNodes& nodes) noexcept;
  ~DryNodesInUse();
  DryNodesInUse(const DryNodesInUse&) = delete;
  DryNodesInUse& operator=(const DryNodesInUse&) = delete;
};

// runnel_program::make_nodes of the dry run, which has no argument for what is to be made.
bool make_dry_nodes(Memory& memory, std::span<pipeline::Stage> stages) noexcept;

}  // namespace runnel::embedding
