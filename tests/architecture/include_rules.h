// The dependency rule of the source tree, read off its #include lines.
//
// Folders from top to bottom: apps > services, embed > pipeline, compiler > npu > inference > kernels,
// streaming, features > base. A file may include its own folder and those below; folders side by side do not
// know each other. Device folders (all but apps and compiler) keep host code in a folder named host/; outside
// it they include neither host code nor the parts of the standard library that need a heap, threads,
// exceptions or a file system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace runnel::test {

enum class Rule {
  upward,          // an include that goes up, or sideways between pipeline and compiler
  host_header,     // device code that includes host code
  hosted_library,  // device code that includes a header of the standard library or the system that it must do
                   // without
  pragma_once,     // a header without #pragma once
  spelling,        // an include that leaves its folder with "..": paths are relative to the project's root
};

struct Violation {
  std::string file;  // relative to the root, with '/'
  std::size_t line;  // from 1
  Rule rule;
  std::string text;  // what is wrong, as one sentence

  // file:line: text, as compilers write it.
  [[nodiscard]] std::string message() const { return file + ":" + std::to_string(line) + ": " + text; }
  friend void PrintTo(const Violation& violation, std::ostream* out) { *out << violation.message(); }
};

struct Report {
  std::size_t files = 0;              // how many were read
  std::size_t includes = 0;           // how many #include lines they hold
  std::vector<Violation> violations;  // ordered by file and line
};

// Reads every source and header under `root` (the project's folder): the layers' folders, firmware, tests,
// bench, examples.
Report check_includes(const std::filesystem::path& root);

}  // namespace runnel::test
