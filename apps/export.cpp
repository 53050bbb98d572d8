// runnel export: models as .espdl files, which ESP-DL runs; several of them as a package.
#include <fmt/format.h>

#include "apps/espdl_output.h"
#include "apps/support.h"
#include "apps/verbs.h"
#include "base/host/output_file.h"
#include "base/host/output_name.h"
#include "compiler/espdl/target.h"
#include "compiler/ir/model_graph.h"
#include "compiler/write/espdl/package_writer.h"

namespace runnel::apps {
namespace {

struct ExportCall {
  std::vector<std::string> inputs;
  std::string output, target, package, version = "1.0.0";
  int chunk = 0;
  std::int64_t warm_up = -1;
  std::uint32_t seed = 1;
  bool encrypt = false;
  ModelFlags flags;
};

// A .rnl file is opened, other models are imported; both become a graph.
Result<compiler::Graph> graph_of_file(const std::string& path, const compiler::LoadOptions& options) {
  RUNNEL_ASSIGN(const auto bytes, read_whole_file(path));
  if (compiler::is_model_file(bytes)) {
    auto model = OwnedModel::from_bytes(bytes, {}, options.key_or_null());
    if (!model.ok()) return model.status().at(path);
    return compiler::graph_of((*model)->model());
  }
  RUNNEL_ASSIGN(compiler::ImportedGraph imported, compiler::import_file(path, options));
  for (const std::string& note : imported.notes) say(path + ": " + note);
  return std::move(imported.graph);
}

Result<std::vector<std::byte>> export_model(const ExportCall& call, const std::string& input) {
  RUNNEL_ASSIGN(compiler::LoadOptions options, load_options(call.flags));
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
  RUNNEL_ASSIGN(const compiler::Graph graph, graph_of_file(input, options));
  return espdl_bytes(graph, write, input);
}

Status run_export(const ExportCall& call) {
  RUNNEL_TRY(check_output_name(call.output, {".espdl"}));
  std::vector<std::vector<std::byte>> files;
  for (const std::string& input : call.inputs) {
    RUNNEL_ASSIGN(auto bytes, export_model(call, input));
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
  say(fmt::format("{}: a package of {} models, {} bytes", call.output, models.size(), package.size()));
  return {};
}

}  // namespace

void add_export(Verb verb, int& exit_code) {
  auto call = std::make_shared<ExportCall>();
  verb.positional(
          "MODEL", call->inputs,
          "Model files (.rnl, .espdl, or others that import to such operators); several become a package")
      .required()
      .default_str("");
  verb.option("-o,--output", call->output, "The .espdl file to write").required();
  verb.option("--target", call->target,
              "Chip: rounding, layouts, exponents per channel (default: the model's own target)")
      .choices({"c", "esp32", "esp32s3", "esp32p4"});
  verb.option("--chunk", call->chunk,
              "Frames per call: writes the streaming form with StreamingCache nodes (default: whole clips)")
      .positive()
      .default_str("");
  verb.option("--warm-up", call->warm_up,
              "Streaming form: frames at the start of an output that may differ from the whole recording's, "
              "where layers inside the network pad (default: such networks are refused)")
      .non_negative()
      .default_str("");
  verb.option("--seed", call->seed, "Seed of the test inputs, for models without any");
  verb.option("--package", call->package,
              "Write a package with members named after the files (default for several models: PDL3)")
      .choices({"PDL1", "PDL2", "PDL3"})
      .default_str("");
  verb.option("--package-version", call->version, "Version of a PDL3 package, at most 15 characters");
  verb.flag("--encrypt", call->encrypt,
            "Encrypt the file (AES-128-CTR, as ESP-DL reads it) with the key of --key-file or RUNNEL_KEY");
  verb.option("--member", call->flags.member, "Model of an .espdl package: its name or index");
  verb.option("--key-file", call->flags.key_file,
              "Key of encrypted files: 16 bytes or 32 hexadecimal digits (default: RUNNEL_KEY)");
  verb.callback([call, &exit_code] {
    if (const Status status = run_export(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
