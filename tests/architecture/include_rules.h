// The dependency rule of the source tree, read off its #include lines.
//
// Folders from top to bottom: apps, firmware > services, embed > pipeline, compiler > npu > inference >
// kernels, streaming, features > base. A file may include its own folder and those below; folders side by
// side do not know each other. Device folders (all but compiler, services and apps) keep host code in a
// folder named host/; outside it they include neither host code nor the parts of the standard library that
// need a heap, threads, exceptions or a file system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/architecture/source_tree.h"

namespace runnel::test {

enum class Rule {
  upward,          // an include that goes up, or sideways between pipeline and compiler
  host_header,     // device code that includes host code
  hosted_library,  // device code that includes a header of the standard library or the system that it must do
                   // without
  pragma_once,     // a header without #pragma once
  spelling,        // an include that leaves its folder with "..": paths are relative to the project's root
};

struct Violation : Fault {
  Rule rule;
};

struct Report {
  std::size_t files = 0;              // how many were read
  std::size_t includes = 0;           // how many #include lines they hold
  std::vector<Violation> violations;  // ordered by file and line
};

// The folders of product code (what is installed, and what runs on devices), lowest first.
std::vector<std::string> product_folders();
// Whether what lies in this folder of product code, outside of folders host/, is device code.
bool is_device_folder(std::string_view folder);

// Reads every source and header under `root` (the project's folder): the layers' folders, firmware, tests,
// bench, examples.
Report check_includes(const std::filesystem::path& root);

}  // namespace runnel::test
