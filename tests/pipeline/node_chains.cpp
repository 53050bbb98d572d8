#include "tests/pipeline/node_chains.h"

namespace runnel::pipeline::test {
namespace {

std::vector<std::string_view>& chains() {
  static std::vector<std::string_view> list;
  return list;
}

}  // namespace

NodeChain::NodeChain(std::string_view text) { chains().push_back(text); }
const std::vector<std::string_view>& NodeChain::all() { return chains(); }

}  // namespace runnel::pipeline::test
