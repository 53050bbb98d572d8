#include "compiler/import/load.h"

#include <cstring>
#include <utility>

#include "base/host/crypto.h"
#include "base/host/out_of_memory.h"
#include "compiler/import/file_access.h"
#include "compiler/import/manifest.h"
#include "compiler/import/pte/importer.h"
#include "compiler/import/tflite/importer.h"
#include "compiler/import/usage.h"
#include "inference/host/encrypted_model.h"

namespace runnel::compiler {
namespace {

bool starts_with(const std::vector<std::byte>& bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}
bool is_espdl(const std::vector<std::byte>& bytes) {
  return starts_with(bytes, "EDL") || starts_with(bytes, "PDL");
}

Result<EspdlTarget> parse_target(const std::string& name) {
  if (name.empty()) return EspdlTarget::automatic;
  if (name == "c" || name == "esp32" || name == "generic") return EspdlTarget::c;
  if (name == "esp32s3") return EspdlTarget::esp32s3;
  if (name == "esp32p4") return EspdlTarget::esp32p4;
  return Status(Code::invalid_argument)
         << "target \"" << name
         << "\", expected c (or esp32, generic), esp32s3 or esp32p4 for an .espdl file";
}

// Only .espdl files leave open what they were made for; elsewhere a target is a slip, e.g. for --accelerator.
Status no_target(const LoadOptions& options, std::string_view kind) {
  if (options.target.empty()) return {};
  return Status(Code::invalid_argument) << "target \"" << options.target << "\" of " << kind
                                        << " file; only of .espdl files it says what they were quantized for";
}

Result<ImportedGraph> import_bytes(const std::vector<std::byte>& bytes, const LoadOptions& options) {
  if (is_model_file(bytes))
    return Status(Code::invalid_argument) << "a .rnl file already, expected a model of another tool";
  if (is_tflite(bytes)) {
    RUNNEL_TRY(no_target(options, "a .tflite"));
    if (!options.member.empty())
      return Status(Code::invalid_argument)
             << "member \"" << options.member << "\" of a .tflite file, which holds one model";
    ImportedGraph out;
    RUNNEL_ASSIGN(out.graph, import_tflite(bytes, options.operators, options.onnx, &out.notes));
    return out;
  }
  if (is_pte(bytes)) {
    RUNNEL_TRY(no_target(options, "a .pte"));
    if (!options.member.empty())
      return Status(Code::invalid_argument)
             << "member \"" << options.member << "\" of a .pte file, of which the first method is taken";
    RUNNEL_ASSIGN(PteImport imported, import_pte(bytes, options.operators));
    return ImportedGraph{std::move(imported.graph), std::move(imported.notes)};
  }
  if (looks_like_onnx(bytes)) {
    RUNNEL_TRY(no_target(options, "an .onnx"));
    RUNNEL_ASSIGN(OnnxImport imported, import_onnx(bytes, options.onnx));
    return ImportedGraph{std::move(imported.graph), std::move(imported.notes)};
  }
  if (!is_espdl(bytes)) {
    if (bytes.empty()) return Status(Code::invalid_data) << "empty, expected a model file";
    return Status(Code::invalid_data)
           << "neither a .rnl file (RNL1 at byte 4) nor an .espdl file (EDL1, EDL2, PDL1, PDL2, PDL3 at byte "
              "0) nor a .tflite file (TFL3 at byte 4) nor a .pte file (ET12 or BP08 at byte 4) nor an .onnx "
              "file (a version in its first field)";
  }
  EspdlOptions espdl;
  RUNNEL_ASSIGN(espdl.target, parse_target(options.target));
  espdl.member = options.member;
  espdl.key = options.key;
  espdl.custom_operators = options.custom_operators;
  espdl.operators = options.operators;
  RUNNEL_ASSIGN(EspdlImport imported, import_espdl(bytes, espdl));
  ImportedGraph out;
  out.graph = std::move(imported.graph);
  out.notes.push_back(imported.target_reason);
  return out;
}

// Of read_files_by(); empty: the file system.
ReadFile& file_reader() {
  static ReadFile reader;
  return reader;
}

// The model beside a manifest, used as that says.
Result<ImportedGraph> import_manifest(const std::filesystem::path& path, const std::vector<std::byte>& bytes,
                                      const LoadOptions& options) {
  RUNNEL_ASSIGN(const WakeWordManifest manifest, read_manifest(bytes));
  const std::filesystem::path model = path.parent_path() / manifest.model;
  RUNNEL_ASSIGN(const std::vector<std::byte> model_bytes, read_verified(model, options));
  if (!is_tflite(model_bytes))
    return Status(Code::invalid_data) << model.string() << ": expected a .tflite file (TFL3 at byte 4)";
  auto imported = import_bytes(model_bytes, options);
  if (!imported.ok()) return imported.status().at(model.string());
  RUNNEL_TRY(apply_manifest(manifest, imported->graph));
  return imported;
}

Result<ImportedGraph> import_any(const std::filesystem::path& path, const std::vector<std::byte>& bytes,
                                 const LoadOptions& options) {
  auto imported =
      looks_like_manifest(bytes) ? import_manifest(path, bytes, options) : import_bytes(bytes, options);
  if (!imported.ok()) return imported.status().at(path.string());
  if (imported->graph.name.empty()) imported->graph.name = path.stem().string();
  return imported;
}

Result<ImportedGraph> read_graph(const std::filesystem::path& path, const LoadOptions& options) {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_verified(path, options));
  return import_any(path, bytes, options);
}

Result<LoadedModel> read_model(const std::filesystem::path& path, const LoadOptions& options) {
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_verified(path, options));
  LoadedModel out;
  if (is_model_file(bytes)) {
    if (options.stream.given())
      return Status(Code::invalid_argument) << path.string()
                                            << ": a .rnl file has its streaming plan already; give streaming "
                                               "options where it is made (import)";
    if (!options.member.empty())
      return Status(Code::invalid_argument) << path.string() << ": member \"" << options.member
                                            << "\" of a .rnl file, which holds one model";
    if (const Status target = no_target(options, "a .rnl"); !target.ok()) return target.at(path.string());
    auto model = OwnedModel::from_bytes(bytes, {}, options.key_or_null());
    if (!model.ok()) return model.status().at(path.string());
    if (const Status known = missing_operators((*model)->model(), options.operators); !known.ok())
      return known.at(path.string());
    out.model = std::move(model).value();
    return out;
  }
  RUNNEL_ASSIGN(ImportedGraph imported, import_any(path, bytes, options));
  out.notes = std::move(imported.notes);
  WriteOptions write;
  write.operators = options.operators;
  write.stream = options.stream;
  auto written = write_for_use(imported.graph, write);
  if (!written.ok()) return written.status().at(path.string());
  out.notes.insert(out.notes.end(), written->notes.begin(), written->notes.end());
  for (const std::string& refusal : written->refusals) out.notes.push_back("cannot be streamed: " + refusal);
  auto model = OwnedModel::from_bytes(written->bytes);
  if (!model.ok()) return model.status().at(path.string());
  out.model = std::move(model).value();
  return out;
}

Result<std::string> file_of(std::string_view name, const LoadOptions& options) {
  return options.find ? options.find(name) : std::string(name);
}

}  // namespace

Result<std::vector<std::byte>> read_verified(const std::filesystem::path& path, const LoadOptions& options) {
  RUNNEL_ASSIGN(std::vector<std::byte> bytes, read_model_file(path));
  if (options.verify) RUNNEL_TRY(options.verify(path, bytes));
  return bytes;
}

bool is_model_file(const std::vector<std::byte>& bytes) {
  return is_encrypted_model(bytes) || starts_with(bytes, "RNL1", 4);
}

Result<std::vector<std::byte>> read_model_file(const std::filesystem::path& path) {
  return file_reader() ? file_reader()(path) : read_whole_file(path);
}

void read_files_by(ReadFile read) { file_reader() = std::move(read); }

void open_readers(std::span<const std::byte> first) {
  // The same library opens encrypted models and checks packages.
  [[maybe_unused]] const bool crypto = crypto::available();
  if (looks_like_onnx(first)) open_onnx();
}

Result<ImportedGraph> import_file(const std::filesystem::path& path, const LoadOptions& options) {
  return catching_bad_alloc("importing the model", [&]() -> Result<ImportedGraph> {
    RUNNEL_ASSIGN(const std::string file, file_of(path.string(), options));
    return read_graph(file, options);
  });
}

Result<LoadedModel> load_model(const std::filesystem::path& path, const LoadOptions& options) {
  return catching_bad_alloc("loading the model", [&]() -> Result<LoadedModel> {
    RUNNEL_ASSIGN(const std::string file, file_of(path.string(), options));
    return read_model(file, options);
  });
}

Result<const Model*> FileLoader::load(std::string_view path) noexcept {
  return catching_bad_alloc("loading the model", [&] { return load_once(path); });
}

Result<const Model*> FileLoader::load_once(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const auto known = models_.find(path);
  if (known != models_.end()) return &known->second.model->model();
  auto loaded = load_model(std::filesystem::path(path), options_);
  if (!loaded.ok()) return loaded.status();
  for (const std::string& note : loaded->notes) notes_.push_back(std::string(path) + ": " + note);
  const Model* model = &loaded->model->model();
  models_.emplace(path, std::move(loaded).value());
  return model;
}

std::vector<std::string> FileLoader::take_notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

}  // namespace runnel::compiler
