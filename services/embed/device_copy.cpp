#include "services/embed/device_copy.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "services/embed/device_sources.h"

namespace runnel::embedding {
namespace {

namespace fs = std::filesystem;

// Conditions under which kernels for a kind of processor replace the portable ones, as kernels/CMakeLists.txt
// has them.
constexpr std::string_view kArm =
    "defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'";
constexpr std::string_view kRiscV = "defined(__riscv)";

struct SpecialSource {
  std::string_view path;
  bool arm, riscv;  // for which it is; neither: for all others
};
constexpr SpecialSource kSpecial[] = {{"kernels/conv/cortex_m/conv_dsp.cpp", true, false},
                                      {"kernels/elementwise/elementwise_dsp.cpp", true, false},
                                      {"kernels/conv/riscv/conv_riscv.cpp", false, true},
                                      {"kernels/elementwise/elementwise_riscv.cpp", false, true},
                                      {"kernels/elementwise/elementwise_generic.cpp", false, false}};

std::string condition_of(const SpecialSource& source) {
  if (source.arm) return std::string(kArm);
  if (source.riscv) return std::string(kRiscV);
  return "!(" + std::string(kArm) + ") && !" + std::string(kRiscV);
}

// What stands before a source: what its build has as flags.
std::string lead(const std::string& path) {
  std::string out =
      "// A copy of runnel's source, made by `runnel embed`.\n"
      "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n"
      "#elif defined(__GNUC__)\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n";
  if (path.starts_with("kernels/"))
    out += "#if (" + std::string(kArm) + ") || " + std::string(kRiscV) +
           "\n#define RUNNEL_KERNELS_DEVICE\n#endif\n";
  for (const SpecialSource& one : kSpecial) {
    if (one.path == path) out += "#if " + condition_of(one) + "\n";
  }
  return out + "#line 1 \"" + path + "\"\n";
}

std::string_view tail(const std::string& path) {
  for (const SpecialSource& one : kSpecial) {
    if (one.path == path) return "#endif\n";
  }
  return {};
}

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The names between quotes in the text's #include lines.
std::vector<std::string> includes_of(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> out;
  for (std::size_t at = text.find(kInclude); at != std::string_view::npos; at = text.find(kInclude, at)) {
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    at += kInclude.size();
    const std::size_t end = text.find('"', at);
    if (starts_line && end != std::string_view::npos) out.emplace_back(text.substr(at, end - at));
  }
  return out;
}

class Copy {
 public:
  explicit Copy(const std::string& runnel) : places_{runnel, kGeneratedFolder, kFlatBuffersFolder} {}

  // The file, and then whatever it includes.
  Status add(const std::string& path) {
    if (!known_.insert(path).second) return {};
    for (const fs::path& place : places_) {
      std::optional<std::string> text = text_of(place / path);
      if (!text) continue;
      const std::vector<std::string> includes = includes_of(*text);
      const bool source = path.ends_with(".cpp");
      files_.push_back({path, source ? lead(path) + *text + std::string(tail(path)) : std::move(*text)});
      for (const std::string& one : includes) RUNNEL_TRY(add(one));
      return {};
    }
    return Status(Code::not_found) << path << " is neither in runnel's source tree " << places_[0].string()
                                   << " nor among the headers of its build (" << kGeneratedFolder
                                   << ") and of FlatBuffers (" << kFlatBuffersFolder
                                   << "): expected --runnel DIR";
  }

  std::vector<compiler::EmbeddedFile> take() { return std::move(files_); }

 private:
  std::vector<fs::path> places_;
  std::set<std::string> known_;
  std::vector<compiler::EmbeddedFile> files_;
};

}  // namespace

Result<std::vector<compiler::EmbeddedFile>> device_copy(const std::string& runnel,
                                                        const std::vector<compiler::EmbeddedFile>& program) {
  Copy copy(runnel);
  for (const compiler::EmbeddedFile& file : program) {
    for (const std::string& one : includes_of(file.text)) {
      const auto is_it = [&](const compiler::EmbeddedFile& other) { return other.path == one; };
      if (std::none_of(program.begin(), program.end(), is_it)) RUNNEL_TRY(copy.add(one));
    }
  }
  for (const std::string_view path : kDeviceSources) RUNNEL_TRY(copy.add(std::string(path)));
  for (const SpecialSource& one : kSpecial) RUNNEL_TRY(copy.add(std::string(one.path)));
  return copy.take();
}

}  // namespace runnel::embedding
