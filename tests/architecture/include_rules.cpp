#include "tests/architecture/include_rules.h"

#include <algorithm>
#include <array>
#include <set>
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
    Layer{"base", 0, true},     Layer{"kernels", 1, true},   Layer{"streaming", 1, true},
    Layer{"features", 1, true}, Layer{"decoding", 1, true},  Layer{"inference", 2, true},
    Layer{"npu", 3, true},      Layer{"pipeline", 4, true},  Layer{"compiler", 4, false},
    Layer{"embed", 5, true},    Layer{"services", 6, false}, Layer{"library", 7, false},
    Layer{"apps", 7, false},    Layer{"python", 7, false},   Layer{"firmware", 7, true},
    Layer{"bridges", 8, false},
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

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& sources) {
    for (const SourceFile& source : sources) check(source);
    std::stable_sort(report_.violations.begin(), report_.violations.end(),
                     [](const Violation& a, const Violation& b) {
                       return a.file != b.file ? a.file < b.file : a.line < b.line;
                     });
  }
  [[nodiscard]] Report report() && { return std::move(report_); }

 private:
  void check(const SourceFile& source) {
    ++report_.files;
    report_.includes += source.includes.size();
    relative_ = source.path;
    for (const Include& one : source.includes) include(one);
    if (source.is_header() && !source.pragma_once) {
      add(1, Rule::pragma_once, "a header without #pragma once");
    }
  }

  void add(std::size_t line, Rule rule, const std::string& text) {
    report_.violations.push_back({{relative_.generic_string(), line, text}, rule});
  }

  void include(const Include& one) {
    const std::size_t line = one.line;
    const std::string& written = one.written;
    const fs::path name(written);
    if (std::find(name.begin(), name.end(), "..") != name.end()) {
      add(line, Rule::spelling, "includes \"" + written + "\"; write the path from the project's root");
      return;
    }
    const Layer* own = layer_of(relative_);
    if (own == nullptr) return;
    const fs::path target = one.target;
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

  fs::path relative_;
  Report report_;
};

}  // namespace

std::vector<std::string> product_folders() {
  std::vector<std::string> folders;
  for (const Layer& layer : kLayers) folders.emplace_back(layer.folder);
  return folders;
}

bool is_device_folder(std::string_view folder) {
  return std::any_of(kLayers.begin(), kLayers.end(),
                     [&](const Layer& layer) { return layer.folder == folder && layer.device; });
}

Report check_includes(const fs::path& root) {
  std::vector<std::string> folders = product_folders();
  folders.insert(folders.end(), kFreeFolders.begin(), kFreeFolders.end());
  return Checker(read_sources(root, folders)).report();
}

}  // namespace runnel::test
