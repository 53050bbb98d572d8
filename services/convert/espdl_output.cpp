#include "services/convert/espdl_output.h"

#include <fmt/format.h>

#include "compiler/espdl/target.h"

namespace runnel::convert {

Result<std::vector<std::byte>> espdl_bytes(const compiler::Graph& graph,
                                           const compiler::EspdlWriteOptions& options,
                                           const std::string& name,
                                           const std::function<void(std::string_view)>& say) {
  auto written = compiler::write_espdl(graph, options);
  if (!written.ok()) return written.status().at(name);
  for (const std::string& refusal : written->refusals) say(name + ": " + refusal);
  if (!written->refusals.empty()) {
    return Status(Code::unsupported) << name << ": cannot be written as .espdl for "
                                     << compiler::espdl_source::name_of(written->target) << ", "
                                     << written->refusals.size()
                                     << (written->refusals.size() == 1 ? " reason" : " reasons");
  }
  for (const std::string& note : written->notes) say(name + ": " + note);
  say(fmt::format("{}: {} operators for {}, {} bytes{}{}", name, graph.nodes.size(),
                  compiler::espdl_source::name_of(written->target), written->bytes.size(),
                  options.chunk > 0 ? fmt::format(", {} frames per call", options.chunk) : "",
                  options.key != nullptr ? ", encrypted" : ""));
  return std::move(written->bytes);
}

}  // namespace runnel::convert
