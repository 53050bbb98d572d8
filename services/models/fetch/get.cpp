#include "services/models/fetch/get.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/host/crypto.h"
#include "base/host/output_file.h"
#include "base/host/small_file.h"
#include "compiler/import/file_access.h"
#include "compiler/import/load.h"
#include "inference/host/check.h"
#include "inference/host/describe.h"
#include "pipeline/host/text.h"
#include "services/calibrate/model_front_end.h"
#include "services/models/fetch/download.h"
#include "services/sandbox/sandbox.h"
#include "services/trust/signature_file.h"
#include "services/trust/trust.h"

namespace runnel::models {
namespace {

namespace fs = std::filesystem;

// The model that a manifest names lies beside it.
Result<std::string> model_of_manifest(const std::string& file, const std::string& address) {
  RUNNEL_ASSIGN(const std::string text, read_small_file(file));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const std::string model =
      json.is_object() && json.contains("model") && json["model"].is_string() ? json["model"] : "";
  const std::string sibling =
      address.substr(0, address.find_first_of("?#")).substr(0, address.rfind('/') + 1);
  if (file_name_of(sibling + model) != model || model.empty())
    return Status(Code::invalid_data) << address << ": expected a manifest with the name of a model file";
  return sibling + model;
}

Status fetch_file(const GetRequest& request, const CatalogueFile& from, const fs::path& into,
                  std::vector<std::string>& notes) {
  Download what;
  what.address = from.address;
  what.file = into.string();
  what.sha256 = from.sha256;
  if (from.bytes > 0) what.most_bytes = from.bytes;
  what.stop = request.stop;
  if (request.progress) {
    what.progress = [&](std::uint64_t there, std::uint64_t all) {
      request.progress("fetching " + from.address, there, from.bytes > 0 ? from.bytes : all);
    };
  }
  std::error_code none;
  const bool kept = fs::exists(into, none) && !from.sha256.empty() && sha256_of_file(into.string()).ok() &&
                    *sha256_of_file(into.string()) == from.sha256;
  if (!kept) RUNNEL_TRY(download(what));
  if (!from.sha256.empty()) return {};
  const auto found = sha256_of_file(into.string());
  notes.push_back(from.address + ": not verified, its checksum is not known" +
                  (found.ok() ? "; the SHA-256 is " + *found : ""));
  return {};
}

// The signature of a file that was fetched, and whether it is of the key of the catalogue and of one that is
// trusted here.
Status check_signature(const GetRequest& request, const CatalogueFile& from, const fs::path& file) {
  std::string address = from.signature;
  if (address.empty() && request.verify && from.address.find_first_of("?#") == std::string::npos)
    address = from.address + ".sig";
  if (address.empty() && !request.verify && request.entry.key.empty()) return {};
  // One of an earlier call is of another file, or of another catalogue.
  const std::string beside = trust::signature_place(file).string();
  std::error_code ignored;
  for (const std::string& old : {beside, beside + ".part"}) fs::remove(old, ignored);
  if (!address.empty()) {
    Download what;
    what.address = address;
    what.file = beside;
    what.most_bytes = embed::kImageHeaderBytes;
    what.stop = request.stop;
    // Without one the file is unsigned, which is said below.
    if (const Status got = download(what); !got.ok() && got.code() != Code::not_found) return got;
  }
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(file));
  if (!request.entry.key.empty()) {
    RUNNEL_ASSIGN(trust::TrustedKeys keys,
                  trust::parse_key_list("[key.catalogue]\npublic = \"" + request.entry.key + "\"\n"));
    RUNNEL_TRY(trust::Trust(std::move(keys)).check_file(file, bytes).status());
  }
  return request.verify ? request.verify(file, bytes) : Status();
}

Result<std::vector<std::byte>> imported(const CatalogueEntry& entry, const fs::path& file,
                                        sandbox::Inside& inside, std::vector<std::string>& notes) {
  const std::string name = file.string();
  auto bytes = inside.read(file);
  if (!bytes.ok()) return bytes.status();
  if (compiler::is_model_file(*bytes)) return bytes;
  RUNNEL_ASSIGN(compiler::ImportedGraph import, compiler::import_file(file, {}));
  for (const std::string& note : import.notes) notes.push_back(entry.name + ": " + note);
  compiler::Graph& graph = import.graph;
  const ImportRecipe& recipe = entry.recipe;
  graph.name = entry.name;
  if (!recipe.decision.empty()) {
    if (const auto parsed = pipeline::parse_graph(recipe.decision); !parsed.ok())
      return parsed.status().at(entry.name + ": decision");
    graph.pipeline.decision = recipe.decision;
  }
  if (!recipe.front_end.empty())
    RUNNEL_TRY(calibrate::store_front_end(recipe.front_end, recipe.sample_rate, graph));
  RUNNEL_TRY(compiler::apply_usage(recipe.usage, graph));
  if (!recipe.labels.empty()) RUNNEL_TRY(calibrate::store_labels(entry.name, recipe.labels, graph));
  auto written = compiler::write_for_use(graph, {});
  if (!written.ok()) return written.status().at(name);
  for (const std::string& note : written->notes) notes.push_back(entry.name + ": " + note);
  if (!written->refusals.empty()) notes.push_back(entry.name + ": written for whole clips only");
  return std::move(written->bytes);
}

Status checked(const CatalogueEntry& entry, const std::vector<std::byte>& bytes,
               std::vector<std::string>& notes) {
  auto model = OwnedModel::from_bytes(bytes);
  if (!model.ok()) return model.status().at(entry.name);
  RUNNEL_ASSIGN(const VectorReport vectors, check_vectors(*model));
  if (!vectors.differences.empty() || vectors.passed < vectors.cases)
    return Status(Code::mismatch) << entry.name << ": only " << vectors.passed << " of " << vectors.cases
                                  << " self-test vectors are reproduced on this machine";
  if ((*model)->model().plan() == nullptr) {
    notes.push_back(entry.name + ": checked: it can be prepared here" +
                    (vectors.cases > 0 ? " and reproduces its self-test vectors" : ""));
    RUNNEL_TRY(describe_model(*model).status());
    return {};
  }
  constexpr std::int64_t kFrames = 200;
  RUNNEL_ASSIGN(const StreamReport stream, check_streaming(*model, kFrames));
  if (!stream.differences.empty())
    return Status(Code::mismatch) << entry.name << ": streamed, it differs from the whole run ("
                                  << stream.differences.front().run << ")";
  notes.push_back(entry.name + ": checked: streamed it gives the bits of the whole run");
  return {};
}

// The answer of the child: notes, as a JSON array and a zero, and the model.
std::vector<std::byte> answer_of(const std::vector<std::string>& notes, const std::vector<std::byte>& model) {
  const std::string text =
      nlohmann::json(notes).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::vector<std::byte> answer(text.size() + 1 + model.size());
  std::ranges::transform(text, answer.begin(), [](char letter) { return static_cast<std::byte>(letter); });
  std::ranges::copy(model, answer.begin() + static_cast<std::ptrdiff_t>(text.size()) + 1);
  return answer;
}

// The model in it; its notes are appended.
Result<std::vector<std::byte>> model_of(const std::vector<std::byte>& answer,
                                        std::vector<std::string>& notes) {
  const auto end = std::ranges::find(answer, std::byte{});
  const auto* const text = reinterpret_cast<const char*>(answer.data());
  const auto json = nlohmann::json::parse(text, text + (end - answer.begin()), nullptr, false);
  if (end == answer.end() || !json.is_array())
    return Status(Code::io_error, "the child that imports models answers nonsense");
  for (const auto& note : json) {
    if (note.is_string()) notes.push_back(note.get<std::string>());
  }
  return std::vector<std::byte>(end + 1, answer.end());
}

// Imports and checks what was fetched, which nobody vouches for.
Result<std::vector<std::byte>> made_apart(const GetRequest& request, const fs::path& file,
                                          std::vector<std::string>& notes) {
  std::error_code error;
  sandbox::Request apart;
  apart.name = request.entry.name;
  apart.limits = sandbox::growing_limits(fs::file_size(file, error));
  apart.locked = request.sandbox;
  apart.stop = request.stop;
  apart.may_read = [&file](const fs::path& wanted) {
    std::error_code none;
    return wanted.parent_path() == file.parent_path() && !fs::is_symlink(wanted, none);
  };
  apart.prepare = [&file] {
    std::ifstream in(file, std::ios::binary);
    std::vector<char> first(64);
    in.read(first.data(), static_cast<std::streamsize>(first.size()));
    first.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    compiler::open_readers(std::as_bytes(std::span(first)));
  };
  apart.say = [&notes](std::string_view sentence) { notes.emplace_back(sentence); };
  RUNNEL_ASSIGN(const std::vector<std::byte> answer,
                sandbox::run(apart, [&](sandbox::Inside& inside) -> Result<std::vector<std::byte>> {
                  std::vector<std::string> own;
                  // Limits make it a process of its own.
                  compiler::read_files_by([&inside](const fs::path& path) { return inside.read(path); });
                  RUNNEL_ASSIGN(const std::vector<std::byte> bytes,
                                imported(request.entry, file, inside, own));
                  RUNNEL_TRY(checked(request.entry, bytes, own));
                  return answer_of(own, bytes);
                }));
  return model_of(answer, notes);
}

// The signature of a .rnl file goes with it. What was made of another file here is signed by nobody.
Status keep_signature(const fs::path& fetched, const fs::path& file, std::vector<std::string>& notes) {
  const fs::path from = trust::signature_place(fetched), to = trust::signature_place(file);
  std::error_code error;
  fs::remove(to, error);
  if (!fs::exists(from, error)) return {};
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, read_whole_file(fetched));
  if (compiler::is_model_file(bytes)) {
    RUNNEL_ASSIGN(const std::vector<std::byte> signature, read_whole_file(from, embed::kImageHeaderBytes));
    return write_file(to, signature);
  }
  notes.push_back(file.string() + ": made here of a signed file; `runnel sign` signs it with a key of yours");
  return {};
}

}  // namespace

Result<CatalogueEntry> entry_for_address(std::string_view address, std::string_view name) {
  CatalogueEntry entry;
  const std::string file = file_name_of(address);
  if (file.empty())
    return Status(Code::invalid_argument) << address << ": expected an address that ends in a file's name";
  entry.name = name.empty() ? fs::path(file).stem().string() : std::string(name);
  // The rules of names are those of files in addresses.
  if (file_name_of("https://host/" + entry.name) != entry.name)
    return Status(Code::invalid_argument)
           << "the name '" << entry.name << "', expected letters, digits, '-', '_' and '.'";
  entry.files.push_back({std::string(address), {}, 0, {}});
  entry.card.source = address;
  return entry;
}

Result<GotModel> get_model(const GetRequest& request) {
  const CatalogueEntry& entry = request.entry;
  if (request.folder.empty())
    return Status(Code::not_found, "no folder for models: neither HOME nor XDG_DATA_HOME is set");
  const auto stage = [&](const std::string& text) {
    if (request.progress) request.progress(text, 0, 0);
  };
  GotModel got;
  const fs::path folder = request.folder / entry.name;
  const fs::path file = folder / (entry.name + ".rnl");
  got.path = file.string();
  std::error_code error;
  if (!request.again && fs::exists(file, error)) {
    got.was_there = true;
    return got;
  }
  // What cannot be verified is not fetched.
  for (const CatalogueFile& from : entry.files) {
    if (!from.sha256.empty() && !crypto::available())
      return Status(Code::unsupported)
             << entry.name << ": its checksum cannot be verified without mbedTLS (libmbedcrypto)";
  }
  const fs::path place = request.folder / ".fetched" / entry.name;
  fs::create_directories(place, error);
  if (error) return Status(Code::io_error) << place.string() << ": " << error.message();
  std::vector<CatalogueFile> files = entry.files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path into = place / file_name_of(files[i].address);
    RUNNEL_TRY(fetch_file(request, files[i], into, got.notes));
    RUNNEL_TRY(check_signature(request, files[i], into));
    if (entry.files.size() == 1 && i == 0 && into.extension() == ".json") {
      RUNNEL_ASSIGN(std::string model, model_of_manifest(into.string(), files[0].address));
      files.push_back({std::move(model), {}, 0, {}});
    }
  }
  stage("importing and checking " + entry.name);
  const fs::path first = place / file_name_of(files[0].address);
  RUNNEL_ASSIGN(const std::vector<std::byte> bytes, made_apart(request, first, got.notes));
  fs::create_directories(folder, error);
  if (error) return Status(Code::io_error) << folder.string() << ": " << error.message();
  RUNNEL_TRY(write_card((folder / "card.json").string(), entry.card));
  RUNNEL_TRY(write_file(file, bytes));
  RUNNEL_TRY(keep_signature(first, file, got.notes));
  fs::remove_all(place, error);
  stage({});
  return got;
}

}  // namespace runnel::models
