#include "tests/architecture/include_rules.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

namespace runnel::test {
namespace fs = std::filesystem;
namespace {

struct Layer {
  std::string_view folder;
  int height;
  bool device;
};
// Folders of one height do not include each other. Firmware examples stand beside the apps, on device code
// alone.
constexpr std::array kLayers = {
    Layer{"base", 0, true},      Layer{"kernels", 1, true},   Layer{"streaming", 1, true},
    Layer{"features", 1, true},  Layer{"inference", 2, true}, Layer{"npu", 3, true},
    Layer{"pipeline", 4, true},  Layer{"compiler", 4, false}, Layer{"embed", 5, true},
    Layer{"services", 5, false}, Layer{"apps", 6, false},     Layer{"firmware", 6, true},
};
// Read for #pragma once only: tests and the like may include what they want.
constexpr std::array kFreeFolders = {"tests", "bench", "examples"};

// Needs a heap, threads, exceptions, RTTI, text formatting or an operating system.
// clang-format off
const std::set<std::string_view> kHostedLibrary = {
    "any", "barrier", "condition_variable", "deque", "exception", "filesystem", "format", "forward_list",
    "fstream", "functional", "future", "iomanip", "ios", "iosfwd", "iostream", "istream", "latch", "list",
    "locale", "map", "memory", "memory_resource", "mutex", "ostream", "queue", "regex", "semaphore", "set",
    "shared_mutex", "sstream", "stack", "stdexcept", "stop_token", "streambuf", "string", "syncstream",
    "system_error", "thread", "typeindex", "typeinfo", "unordered_map", "unordered_set", "valarray", "vector",
    "cstdio", "stdio.h", "pthread.h", "unistd.h", "fcntl.h", "dlfcn.h", "fmt/core.h", "fmt/format.h",
    "nlohmann/json.hpp", "sndfile.h", "fftw3.h", "alsa/asoundlib.h", "CLI/CLI.hpp",
};
// clang-format on

const Layer* layer_of(const fs::path& relative) {
  const std::string first = relative.begin()->string();
  const auto* found =
      std::find_if(kLayers.begin(), kLayers.end(), [&](const Layer& layer) { return layer.folder == first; });
  return found == kLayers.end() ? nullptr : found;
}

// Below a folder named host (the file's own name does not count).
bool is_host_part(const fs::path& relative) {
  const fs::path folder = relative.parent_path();
  return std::find(folder.begin(), folder.end(), "host") != folder.end();
}

bool is_header(const fs::path& path) { return path.extension() == ".h" || path.extension() == ".hpp"; }
bool is_source(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".h",   ".hpp", ".c",   ".cc",
                                                    ".cpp", ".inc", ".ipp", ".tpp"};
  return kExtensions.contains(path.extension().string());
}

// What follows a directive of the preprocessor on its line: "# include <x>" for `include` gives "<x>".
std::optional<std::string_view> after_directive(std::string_view line, std::string_view directive) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with(directive)) return std::nullopt;
  line.remove_prefix(directive.size());
  skip_blanks();
  return line;
}

// The path of an #include line, without its quotes or angle brackets.
std::optional<std::string> included_path(std::string_view line) {
  const std::optional<std::string_view> rest = after_directive(line, "include");
  if (!rest || rest->empty() || ((*rest)[0] != '"' && (*rest)[0] != '<')) return std::nullopt;
  const std::size_t end = rest->find((*rest)[0] == '<' ? '>' : '"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(rest->substr(1, end - 1));
}

class Checker {
 public:
  explicit Checker(fs::path root) : root_(std::move(root)) {}

  void check(const fs::path& file) {
    relative_ = file.lexically_relative(root_);
    ++report_.files;
    std::ifstream in(file);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    bool once = false;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (const std::optional<std::string> path = included_path(line)) {
        ++report_.includes;
        include(number, *path);
      } else if (const auto pragma = after_directive(line, "pragma")) {
        once = once || pragma->starts_with("once");
      }
    }
    if (is_header(file) && !once) add(1, Rule::pragma_once, "a header without #pragma once");
  }

  Report finish() && {
    std::sort(report_.violations.begin(), report_.violations.end(),
              [](const Violation& a, const Violation& b) {
                return a.file != b.file ? a.file < b.file : a.line < b.line;
              });
    return std::move(report_);
  }

 private:
  void add(std::size_t line, Rule rule, const std::string& text) {
    report_.violations.push_back({relative_.generic_string(), line, rule, text});
  }

  void include(std::size_t line, const std::string& written) {
    const fs::path name(written);
    if (std::find(name.begin(), name.end(), "..") != name.end()) {
      add(line, Rule::spelling, "includes \"" + written + "\"; write the path from the project's root");
      return;
    }
    const Layer* own = layer_of(relative_);
    if (own == nullptr) return;
    // As the compiler does it: beside the file first, then from the root.
    const fs::path beside = relative_.parent_path() / name;
    const fs::path target = fs::exists(root_ / beside) ? beside : name;
    const Layer* other = layer_of(target);
    const bool device = own->device && !is_host_part(relative_);

    if (device && kHostedLibrary.contains(written)) {
      add(line, Rule::hosted_library,
          "device code includes <" + written + ">; it belongs below a folder host/");
    }
    if (other == nullptr) {
      for (const char* folder : kFreeFolders) {
        if (target.has_parent_path() && *target.begin() == folder) {
          add(line, Rule::upward,
              "includes \"" + written + "\": nothing in " + std::string(own->folder) + " may use " + folder);
        }
      }
      return;
    }
    if (other->height > own->height || (other->height == own->height && other->folder != own->folder)) {
      add(line, Rule::upward,
          "includes \"" + written + "\": " + std::string(own->folder) + " may not use " +
              std::string(other->folder));
    }
    if (device && (!other->device || is_host_part(target))) {
      add(line, Rule::host_header, "device code includes \"" + written + "\", which is host code");
    }
  }

  fs::path root_;
  fs::path relative_;
  Report report_;
};

}  // namespace

Report check_includes(const fs::path& root) {
  Checker checker(root);
  const auto check_folder = [&](std::string_view folder) {
    if (!fs::is_directory(root / folder)) return;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && is_source(entry.path())) checker.check(entry.path());
    }
  };
  for (const Layer& layer : kLayers) check_folder(layer.folder);
  for (const char* folder : kFreeFolders) check_folder(folder);
  return std::move(checker).finish();
}

}  // namespace runnel::test
