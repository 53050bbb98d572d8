// The valid files and texts that the tests of robustness damage and the fuzzers start from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace runnel::test {

// models/digits unchanged, and imported with its front end, labels and decision.
std::vector<std::byte> digits_espdl();
std::vector<std::byte> digits_rnl();
// Attention of floats over a window, with tables by distance; a step that looks ahead, with a counter as
// state.
std::vector<std::byte> attention_rnl();
// The same of int8 in fixed point, and a layer normalization.
std::vector<std::byte> integer_attention_rnl();
std::vector<std::byte> steps_rnl();
// A tenth of a second, 16 bit, mono; and the same as 32-bit floats.
std::vector<std::byte> short_wav();
std::vector<std::byte> float_wav();
// Valid graphs for feed_graph.
std::vector<std::string> graph_texts();

}  // namespace runnel::test
