// The device nodes, one row each.
#pragma once

#include <span>
#include <string_view>

#include "pipeline/node.h"

namespace runnel::pipeline {

// What `runnel embed` needs to know about a node besides its data sheet.
struct DeviceNode {
  const NodeType* type = nullptr;
  std::string_view class_name;  // in namespace runnel::pipeline
  std::string_view header;      // where the class is declared; empty: the node cannot be embedded
  // The settings are members of a struct `options`.
  bool has_options = false;
  // With has_options: the settings that are members of the node itself, separated and surrounded by commas,
  // ",preset,".
  std::string_view own_settings;
};

// Every device node is in this list and nowhere else: graphs, `runnel embed`, the documentation and the
// contract test all read it. To add one, add its row and its header in nodes.cpp, and how it is saved in
// states.cpp.
std::span<const DeviceNode> device_node_rows() noexcept;

// The types of these rows. A program that needs fewer lists its own, so that the others are not linked.
NodeTable device_nodes() noexcept;

}  // namespace runnel::pipeline
