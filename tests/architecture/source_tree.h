// What the rules of the tree are checked on: its sources and their #include lines.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::test {

struct Include {
  std::size_t line;     // from 1
  std::string written;  // as it stands between quotes or angle brackets
  std::string
      target;  // the path from the root that the compiler finds: beside the file first, then from the root
};

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  bool pragma_once = false;
  std::vector<Include> includes;
  [[nodiscard]] bool is_header() const;
};

// All C and C++ sources below the folders `folders` of `root`, ordered by path; a folder that is missing is
// left out. Throws std::runtime_error for a file that cannot be read.
std::vector<SourceFile> read_sources(const std::filesystem::path& root,
                                     const std::vector<std::string>& folders);

// The lines of a text file. Throws std::runtime_error if it cannot be read.
std::vector<std::string> read_lines(const std::filesystem::path& file);

// "kernels" of "kernels/conv/conv.h"; "" for a file of the root.
std::string_view top_folder(std::string_view path);
// "kernels/conv" of "kernels/conv/conv.h"; "" for a file of the root.
std::string_view folder_of(std::string_view path);

// Something that breaks a rule.
struct Fault {
  std::string file;  // relative to the root, with '/'
  std::size_t line;  // from 1; 0 for the file as a whole
  std::string text;  // what is wrong and what mends it
  // file:line: text, as compilers write it.
  [[nodiscard]] std::string message() const;
  friend void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.message(); }
};

}  // namespace runnel::test
