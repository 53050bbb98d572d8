#include "apps/call/contained.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "apps/call/progress.h"
#include "apps/support.h"
#include "compiler/import/file_access.h"
#include "services/sandbox/sandbox.h"
#include "services/trust/signature_file.h"
#include "services/trust/trust.h"

namespace runnel::apps {
namespace {

namespace fs = std::filesystem;

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

sandbox::Limits limits_of(const Containment& containment, std::uint64_t bytes) {
  sandbox::Limits limits = sandbox::limits_of_file(bytes);
  if (containment.sandbox) limits = sandbox::growing_limits(bytes);
  if (containment.max_memory) limits.memory_bytes = static_cast<std::uint64_t>(*containment.max_memory) << 20;
  if (containment.max_seconds) limits.cpu_seconds = static_cast<std::uint32_t>(*containment.max_seconds);
  return limits;
}

// The model, and of a manifest the model beside it, which must lie there itself; and their signatures.
bool belongs_to(const fs::path& model, const fs::path& wanted) {
  if (wanted == model || wanted == trust::signature_place(model)) return true;
  std::error_code error;
  return model.extension() == ".json" && wanted.parent_path() == model.parent_path() &&
         (wanted.extension() == ".tflite" || wanted.string().ends_with(".tflite.sig")) &&
         !fs::is_symlink(wanted, error);
}

// The signatures in its folder that belong to it.
std::vector<fs::path> signatures_beside(const fs::path& model) {
  std::vector<fs::path> found;
  std::error_code error;
  if (fs::exists(trust::signature_place(model), error)) found.push_back(trust::signature_place(model));
  if (model.extension() != ".json") return found;
  for (auto it = fs::directory_iterator(model.has_parent_path() ? model.parent_path() : fs::path("."), error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path place = model.parent_path() / it->path().filename();
    if (belongs_to(model, place) && place.extension() == ".sig") found.push_back(place);
  }
  return found;
}

// Opens what reading the file may need, judged by its first bytes.
void open_readers_of(const fs::path& model) {
  std::ifstream in(model, std::ios::binary);
  char first[64] = {};
  in.read(first, sizeof first);
  const auto count = static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0));
  compiler::open_readers(std::as_bytes(std::span(first, count)));
}

}  // namespace

void add_limits(Verb verb, Containment& containment) {
  const auto untrusted = [](Option option) { return option.group("Untrusted files"); };
  untrusted(
      verb.option("--max-memory", containment.max_memory,
                  "Most memory in MiB to take for the model, 0: no limit (default: 1024 for files of less "
                  "than 1 MiB; see `runnel help limits`)"))
      .range(0, 1 << 24)
      .default_str("");
  untrusted(
      verb.option("--max-seconds", containment.max_seconds,
                  "Most processor time in seconds, 0: no limit (default: 10 for files of less than 1 MiB)"))
      .range(0, 1 << 20)
      .default_str("");
}

void add_containment(Verb verb, Containment& containment) {
  verb.flag(
          "--sandbox", containment.sandbox,
          "Read the model in a process without network, files and rights (seccomp, Landlock), and say which "
          "of them this machine has")
      .group("Untrusted files");
  add_limits(verb, containment);
}

bool has_limits_of_its_own(const std::string& model) { return sandbox::limits_of_file(size_of(model)).any(); }

Result<std::vector<std::byte>> contained(const Containment& containment, const ContainedFiles& files,
                                         const compiler::LoadOptions& options, const ContainedWork& work) {
  fs::path model = files.model;
  if (options.find) {
    RUNNEL_ASSIGN(model, options.find(files.model));
  }
  std::uint64_t bytes = size_of(model);
  for (const fs::path& each : files.opened) bytes += size_of(each);
  std::optional<Patience> patience;
  const std::vector<fs::path> signatures = signatures_beside(model);
  sandbox::Request request;
  request.name = files.model;
  request.limits = limits_of(containment, bytes);
  request.locked = containment.sandbox;
  request.may_read = [&model](const fs::path& wanted) { return belongs_to(model, wanted); };
  request.opened = files.opened;
  if (containment.sandbox) request.prepare = [&model] { open_readers_of(model); };
  // Its thread must not be there when the child begins.
  request.started = [&] {
    if (!files.doing.empty()) patience.emplace(files.doing + " " + files.model);
  };
  request.say = say;
  return sandbox::run(request, [&](sandbox::Inside& inside) {
    compiler::LoadOptions here = options;
    here.find = [&](std::string_view name) -> Result<std::string> {
      return name == files.model ? model.string() : std::string(name);
    };
    // Only in a process of its own: the reader stays.
    if (request.locked) {
      compiler::read_files_by([&inside](const fs::path& path) { return inside.read(path); });
      // Which of them there are is asked before: the parent's refusals have no code.
      trust::read_signatures_by([&](const fs::path& path) -> Result<std::vector<std::byte>> {
        if (std::ranges::find(signatures, path) == signatures.end()) return std::vector<std::byte>();
        return inside.read(path);
      });
    }
    return work(here);
  });
}

Result<std::shared_ptr<const OwnedModel>> load_noted(const std::string& path,
                                                     const compiler::LoadOptions& options) {
  RUNNEL_ASSIGN(compiler::LoadedModel loaded, compiler::load_model(path, options));
  for (const std::string& note : loaded.notes) say(path + ": " + note);
  return loaded.model;
}

std::string printable_json(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < 0x20; }, '?');
  return text;
}

}  // namespace runnel::apps
