// How nodes are saved and restored, by their types. On hosts only: devices do not link it.
#pragma once

#include <span>
#include <string_view>

#include "base/state_archive.h"
#include "pipeline/node.h"

namespace runnel::pipeline {

// What a node remembers from one block to the next, as reset() clears it.
struct NodeState {
  const NodeType* type = nullptr;
  // Of a node of this type that is prepared. Null: it cannot be saved.
  void (*run)(Node& node, StateArchive& archive) noexcept = nullptr;
  std::string_view obstacle;  // why not, as "has a process of its own"
};

template <class N>
constexpr NodeState saved_node() noexcept {
  return {
      &N::type, [](Node& node, StateArchive& archive) noexcept { static_cast<N&>(node).state(archive); }, {}};
}
// Of nodes whose output depends on the present block alone.
template <class N>
constexpr NodeState stateless_node() noexcept {
  return {&N::type, [](Node&, StateArchive&) noexcept {}, {}};
}

// A row for every device node. A new node has its row in states.cpp; a test names those without.
std::span<const NodeState> device_node_states() noexcept;

}  // namespace runnel::pipeline
