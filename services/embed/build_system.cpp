#include "services/embed/build_system.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/version.h"
#include "services/embed/device_copy.h"
#include "services/embed/system_templates.h"

namespace runnel::embedding {
namespace {

struct SystemName {
  std::string_view name, kind;
};

// In the order of BuildSystem.
constexpr std::array<SystemName, 6> kSystems = {{{"cmake", "a CMake library"},
                                                 {"esp-idf", "a component of ESP-IDF"},
                                                 {"zephyr", "a module of Zephyr"},
                                                 {"arduino", "a library of Arduino"},
                                                 {"mbed", "a library of Mbed OS"},
                                                 {"wasm", "a WebAssembly module"}}};

constexpr std::string_view kLibraries =
    "runnel_embed runnel_pipeline runnel_decoding runnel_inference runnel_features runnel_streaming "
    "runnel_kernels runnel_base";
constexpr std::string_view kNpuLibraries = " runnel_embed_npu runnel_npu_delegate runnel_npu";
constexpr std::string_view kPartitionLibrary = " runnel_embed_partition";

// They compile what is in the folder, and nothing else.
bool needs_copy(BuildSystem system) { return system == BuildSystem::arduino || system == BuildSystem::mbed; }

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

using Words = std::array<std::pair<std::string_view, std::string>, 10>;

Words words_of(const compiler::EmbeddedProgram& program) {
  return {
      {{"NAME", program.name},
       {"BIG", upper(program.name)},
       {"ORIGIN", program.origin},
       {"MADE", "Made by `runnel embed`; make it again instead of changing it."},
       {"RUNNEL", program.runnel_folder},
       {"VERSION", std::string(kVersion)},
       {"SOURCES", program.name + ".cpp" + (program.in_partition ? "" : " " + program.name + "_model.cpp")},
       {"PREPARE", program.in_partition
                       ? "runnel_prepare_partition(&runnel_" + program.name + ", &partition, &options, &node)"
                       : "runnel_prepare(&runnel_" + program.name + ", &options, &node)"},
       {"LIBRARY", program.in_partition  ? "runnel_embed_partition"
                   : program.npu.empty() ? "runnel_embed"
                                         : "runnel_embed_npu"},
       {"DEVICE_LIBRARIES", std::string(kLibraries) + std::string(program.npu.empty() ? "" : kNpuLibraries) +
                                std::string(program.in_partition ? kPartitionLibrary : "")}}};
}

// Lines that begin with this word are those of programs whose model lies in a partition.
std::string without_conditions(std::string_view text, bool in_partition) {
  constexpr std::string_view kCondition = "@IF_PARTITION@";
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool conditional = line.starts_with(kCondition);
    if (conditional) line.remove_prefix(kCondition.size());
    if (!conditional || in_partition) out += line;
  }
  return out;
}

// Replaces @WORD@; other texts between two @ stay.
std::string fill_in(std::string_view text, const Words& words) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    bool found = false;
    for (const auto& [word, value] : words) {
      if (text[at] != '@' || !text.substr(at + 1).starts_with(word) ||
          !text.substr(at + 1 + word.size()).starts_with('@'))
        continue;
      out += value;
      at += word.size() + 2;
      found = true;
      break;
    }
    if (!found) out += text[at++];
  }
  return out;
}

bool is_example(std::string_view path) {
  return path.starts_with("examples/") || path.starts_with("samples/");
}

bool suits_a_microphone(const compiler::EmbeddedProgram& program) {
  return program.channels == 1 && program.sample_type == "int16" && program.sample_rate >= 8000;
}

}  // namespace

Result<BuildSystem> build_system(std::string_view name) {
  if (name.empty()) return BuildSystem::cmake;
  for (std::size_t i = 0; i < kSystems.size(); ++i) {
    if (kSystems[i].name == name) return static_cast<BuildSystem>(i);
  }
  return Status(Code::invalid_argument)
         << "--build-system " << name << ": expected cmake, esp-idf, zephyr, arduino, mbed or wasm";
}

std::string_view kind_of(BuildSystem system) noexcept {
  return kSystems[static_cast<std::size_t>(system)].kind;
}

Result<std::vector<compiler::EmbeddedFile>> files_for(BuildSystem system,
                                                      const compiler::EmbeddedProgram& program,
                                                      std::vector<compiler::EmbeddedFile> sources) {
  if (system == BuildSystem::cmake) return sources;
  const std::string_view name = kSystems[static_cast<std::size_t>(system)].name;
  if (program.runnel_folder.empty())
    return Status(Code::invalid_argument) << "--build-system " << name
                                          << ": expected --runnel FOLDER with the source tree of runnel, "
                                             "which a program of a package does not know";
  if ((needs_copy(system) || system == BuildSystem::wasm) && !program.npu.empty())
    return Status(Code::unsupported) << "--build-system " << name << ": parts of the model run on "
                                     << program.npu << ", expected cmake, esp-idf or zephyr for them";
  std::erase_if(sources, [](const compiler::EmbeddedFile& file) { return file.path == "CMakeLists.txt"; });
  std::vector<compiler::EmbeddedFile> copied;
  if (needs_copy(system)) {
    RUNNEL_ASSIGN(copied, device_copy(program.runnel_folder, sources));
  }
  std::vector<compiler::EmbeddedFile> out = std::move(sources);
  for (compiler::EmbeddedFile& file : copied) out.push_back(std::move(file));
  if (needs_copy(system)) {
    for (compiler::EmbeddedFile& file : out) file.path.insert(0, "src/");
  }
  const Words words = words_of(program);
  for (const SystemTemplate& one : system_templates()) {
    if (one.system != name || (is_example(one.path) && !suits_a_microphone(program))) continue;
    std::string text = fill_in(without_conditions(one.text, program.in_partition), words);
    // A file whose lines all have a condition is not for other programs.
    if (text.empty()) continue;
    out.push_back({fill_in(one.path, words), std::move(text)});
  }
  return out;
}

}  // namespace runnel::embedding
