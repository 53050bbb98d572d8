// The nodes that run anywhere, one row each.
#pragma once

#include <span>
#include <string_view>

#include "pipeline/node.h"

namespace runnel::pipeline {

// What a program that has a node as a constant (`runnel embed`) must know besides its data sheet.
struct DeviceNode {
  const NodeType* type = nullptr;
  std::string_view class_name;  // in namespace runnel::pipeline
  std::string_view header;      // where the class is declared; empty: the node cannot be embedded
  // Its settings are members of a member `options`.
  bool has_options = false;
  // With has_options: the settings that are members of the node itself, each between commas, ",preset,".
  std::string_view own_settings;
};

// Every device node is in this list and nowhere else: graphs find their nodes here, `runnel embed` its
// classes, the documentation its pages, and tests what they must test. To add one, add its row and its header
// in nodes.cpp.
std::span<const DeviceNode> device_node_rows() noexcept;

// The types of these rows. Programs that want fewer list what they use, so that the rest is not linked.
NodeTable device_nodes() noexcept;

}  // namespace runnel::pipeline
