// make_other MODEL OUTPUT: another model of the same profile: the weights of its first convolution change
// their sign, and its labels are others.
#include <cstdio>
#include <fstream>

#include "compiler/ir/model_graph.h"
#include "compiler/write/writer.h"
#include "inference/host/engine.h"

int main(int argc, char** argv) {
  using namespace runnel;
  if (argc != 3) return 2;
  const auto bytes = read_whole_file(argv[1]);
  if (!bytes.ok()) return 1;
  const auto owned = OwnedModel::from_bytes(*bytes);
  if (!owned.ok()) {
    std::fprintf(stderr, "%s\n", std::string(owned.status().text()).c_str());
    return 1;
  }
  compiler::Graph graph = compiler::graph_of((*owned)->model());
  graph.vectors.clear();
  // The decision of both names "silence".
  for (std::string& label : graph.pipeline.labels) {
    if (label.size() == 1) label = "new " + label;
  }
  for (compiler::Tensor& tensor : graph.tensors) {
    if (!tensor.data || tensor.dtype != DType::int8) continue;
    for (std::byte& one : *tensor.data) {
      const auto value = static_cast<std::int8_t>(one);
      one = static_cast<std::byte>(value == -128 ? 127 : -value);
    }
    break;
  }
  const auto written = compiler::write_model(graph, {});
  if (!written.ok()) {
    std::fprintf(stderr, "%s\n", std::string(written.status().text()).c_str());
    return 1;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file.write(reinterpret_cast<const char*>(written->bytes.data()),
             static_cast<std::streamsize>(written->bytes.size()));
  return file.flush() ? 0 : 1;
}
