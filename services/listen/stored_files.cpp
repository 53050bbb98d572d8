#include "services/listen/stored_files.h"

#include <algorithm>
#include <array>

#include "pipeline/host/text.h"

namespace runnel::listen {

namespace fs = std::filesystem;

std::string files_beside(std::string_view decision, const fs::path& model) {
  constexpr std::array<std::string_view, 4> kFiles = {"tokens", "lexicon", "grammar", "hotwords"};
  auto graph = pipeline::parse_graph(decision);
  if (!graph.ok()) return std::string(decision);
  bool changed = false;
  for (pipeline::NodeText& node : graph->nodes) {
    if (node.type != "ctc" && node.type != "transducer") continue;
    for (pipeline::ParameterText& given : node.parameters) {
      if (std::find(kFiles.begin(), kFiles.end(), given.key) == kFiles.end() || given.value.empty()) continue;
      const fs::path path(given.value);
      const fs::path beside = model.parent_path() / path;
      std::error_code ignored;
      if (path.is_absolute() || model.parent_path().empty() || !fs::is_regular_file(beside, ignored))
        continue;
      given.value = beside.string();
      changed = true;
    }
  }
  return changed ? pipeline::to_text(*graph) : std::string(decision);
}

}  // namespace runnel::listen
