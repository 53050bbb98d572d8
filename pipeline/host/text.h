// The text form of a graph, in the manner of gst-launch:
//
//     graph   = chain { chain }
//     chain   = element { "!" element }
//     element = TYPE { KEY "=" VALUE }  |  NAME "."
//
// Elements are separated by white space, newlines included; "#" at the start of a word begins a comment. A
// value is a word, or has parts in 'single' or "double" quotes; in double quotes a backslash takes the next
// character as it is. `name=` gives an element a name; `NAME.` stands for that element: at the start of a
// chain it adds a reader of the output, at the end it adds an input to a node that joins streams.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

struct ParameterText {
  std::string key, value;
  std::size_t position = 0;  // in the text, bytes
  friend bool operator==(const ParameterText&, const ParameterText&) = default;
};

// A further input of a node that joins streams.
struct InputText {
  int node = -1;             // index of the node whose output it reads
  std::size_t position = 0;  // of the link
  friend bool operator==(const InputText&, const InputText&) = default;
};

struct NodeText {
  std::string type;
  std::string name;  // empty: none was given
  std::vector<ParameterText> parameters;
  std::size_t position = 0;
  int input = -1;                      // index of the node whose output it reads; -1: none
  std::vector<InputText> more_inputs;  // in the order of the text
  friend bool operator==(const NodeText&, const NodeText&) = default;
};

struct GraphText {
  std::vector<NodeText> nodes;  // in the order of the text
  friend bool operator==(const GraphText&, const GraphText&) = default;
};

// "line 2, column 5" (columns count bytes from 1).
std::string describe_position(std::string_view text, std::size_t position);

// Syntax only: types and parameters are not looked up. Errors: invalid_argument with the position, what was
// expected and found.
Result<GraphText> parse_graph(std::string_view text);

// One line of text that parse_graph reads back as the same graph.
std::string to_text(const GraphText& graph);
// A value, quoted where necessary.
std::string quote_value(std::string_view value);

}  // namespace runnel::pipeline
