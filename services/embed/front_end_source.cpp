#include "services/embed/front_end_source.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "features/fbank/rom_fbank.h"
#include "features/host/fbank_source.h"
#include "features/host/microfrontend_source.h"

namespace runnel::embedding {

Status fbank_in_rom(const pipeline::Fbank& node, std::size_t index, compiler::EmbeddedNode& out) {
  const std::string name = fmt::format("Fbank{}Tables", index);
  RUNNEL_ASSIGN(out.definitions, features::fbank_source(node.options, name));
  out.header = "pipeline/nodes/spectrum/rom_fbank.h";
  if (features::has_rom_form(node.options)) {
    out.class_name = fmt::format("Fbank{}Node", index);
    out.definitions += fmt::format("using {} = RecipeFbank<{}>;\n", out.class_name, name);
  } else {
    out.class_name = "RomFbank";
    out.members.push_back({"tables", "&" + name + "::kTables"});
  }
  return {};
}

Status microfrontend_in_rom(const pipeline::Microfrontend& node, std::size_t index,
                            compiler::EmbeddedNode& out) {
  const std::string name = fmt::format("Microfrontend{}Tables", index);
  RUNNEL_ASSIGN(out.definitions, features::microfrontend_source(node.options, name));
  out.class_name = "RomMicrofrontend";
  out.header = "pipeline/nodes/spectrum/rom_microfrontend.h";
  out.members = {{"options", "&" + name + "::kOptions"},
                 {"tables", "&" + name + "::kTables"},
                 {"gives", "DType::" + std::string(node.dtype)},
                 {"non_finite", compiler::quoted(std::string(node.non_finite))}};
  return {};
}

}  // namespace runnel::embedding
