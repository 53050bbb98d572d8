// Chains of nodes that hold to the contract of nodes (node_contract_test.cpp).
#pragma once

#include <string_view>
#include <vector>

namespace runnel::pipeline::test {

// A chain after a recording of 16 kHz, mono, 16 bits; its end gives frames or sound. The test of a node
// declares one with that node in it, at namespace scope, in the same program.
class NodeChain {
 public:
  explicit NodeChain(std::string_view text);
  static const std::vector<std::string_view>& all();
};

}  // namespace runnel::pipeline::test
