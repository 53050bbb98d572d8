// Finding nodes and their parameters by name, with suggestions for unknown names.
#pragma once

#include <string>
#include <string_view>

#include "pipeline/node.h"

namespace runnel::pipeline {

// Some names are both a source and a sink (`wav`): `has_input` selects one. Errors: not_found with a
// suggestion or the list of all names; invalid_argument when the node of that name has no input, or needs
// one.
Result<const NodeType*> find_node(NodeTable nodes, std::string_view name, bool has_input);

// Error: not_found with a suggestion or the list of all parameters.
Result<const Parameter*> find_parameter(const NodeType& type, std::string_view name);

// As written in a graph, numbers with the fewest digits: many parameters are float32, and as float64 they
// would print digits that nobody wrote.
std::string value_text(const Value& value);

// The data sheet as text for people: help, ports, and a line per parameter with unit, range and default.
std::string describe_node(const NodeType& type);
// The same for all nodes as Markdown: the reference part of docs/pipeline.md.
std::string nodes_as_markdown(NodeTable nodes);

}  // namespace runnel::pipeline
