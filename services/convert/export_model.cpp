#include "services/convert/export_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/host/output_file.h"
#include "compiler/espdl/target.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/espdl/package_writer.h"
#include "services/convert/espdl_output.h"

namespace runnel::convert {
namespace {

using Say = std::function<void(std::string_view)>;

// A .rnl file is opened, other models are imported; both become a graph.
Result<compiler::Graph> graph_of_file(const std::string& name, const compiler::LoadOptions& options,
                                      const Say& say) {
  std::string path = name;
  if (options.find) {
    RUNNEL_ASSIGN(path, options.find(name));
  }
  RUNNEL_ASSIGN(const auto bytes, compiler::read_verified(path, options));
  if (compiler::is_model_file(bytes)) {
    auto model = OwnedModel::from_bytes(bytes, {}, options.key_or_null());
    if (!model.ok()) return model.status().at(path);
    return compiler::graph_of((*model)->model());
  }
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(path, options));
  for (const std::string& note : imported.notes) say(path + ": " + note);
  return std::move(imported.graph);
}

Result<std::vector<std::byte>> file_of(const ExportRequest& call, const std::string& input,
                                       compiler::LoadOptions options) {
  compiler::EspdlWriteOptions write;
  if (!call.target.empty()) write.target = compiler::espdl_source::target_named(call.target);
  if (call.warm_up >= 0 && call.chunk == 0)
    return Status(Code::invalid_argument, "--warm-up belongs to the streaming form: expected --chunk, too");
  if (call.encrypt && !options.key)
    return Status(Code::invalid_argument)
           << "--encrypt needs a key: --key-file FILE, or the environment variable RUNNEL_KEY";
  if (call.encrypt) write.key = options.key_or_null();
  write.chunk = call.chunk;
  write.warm_up = call.warm_up;
  write.seed = call.seed;
  options.target = call.target;
  RUNNEL_ASSIGN(const compiler::Graph graph, graph_of_file(input, options, call.say));
  return espdl_bytes(graph, write, input, call.say);
}

}  // namespace

Status export_model(ExportRequest call, const compiler::LoadOptions& load) {
  if (!call.say) call.say = [](std::string_view) {};
  std::vector<std::vector<std::byte>> files;
  for (const std::string& input : call.inputs) {
    RUNNEL_ASSIGN(auto bytes, file_of(call, input, load));
    files.push_back(std::move(bytes));
  }
  if (call.package.empty() && files.size() == 1) return write_file(call.output, files[0]);
  std::vector<compiler::PackedModel> models;
  for (std::size_t i = 0; i < files.size(); ++i)
    models.push_back({std::filesystem::path(call.inputs[i]).stem().string() + ".espdl", files[i]});
  RUNNEL_ASSIGN(const auto package,
                compiler::write_espdl_package(
                    models, {.kind = call.package.empty() ? "PDL3" : std::string_view(call.package),
                             .version = call.version}));
  RUNNEL_TRY(write_file(call.output, package));
  call.say(fmt::format("{}: a package of {} models, {} bytes", call.output, models.size(), package.size()));
  return {};
}

}  // namespace runnel::convert
