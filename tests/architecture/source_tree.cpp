#include "tests/architecture/source_tree.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

namespace runnel::test {
namespace fs = std::filesystem;
namespace {

bool is_source(const fs::path& path) {
  static const std::set<std::string> kExtensions = {".h",   ".hpp", ".c",   ".cc", ".cpp",
                                                    ".inc", ".ipp", ".tpp", ".def"};
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

SourceFile read_source(const fs::path& root, const fs::path& file) {
  SourceFile source{file.lexically_relative(root).generic_string(), false, {}};
  const fs::path folder = fs::path(source.path).parent_path();
  std::size_t number = 0;
  for (const std::string& line : read_lines(file)) {
    ++number;
    if (std::optional<std::string> written = included_path(line)) {
      const fs::path beside = folder / *written;
      std::string target = fs::exists(root / beside) ? beside.generic_string() : *written;
      source.includes.push_back({number, std::move(*written), std::move(target)});
    } else if (const auto pragma = after_directive(line, "pragma")) {
      source.pragma_once = source.pragma_once || pragma->starts_with("once");
    }
  }
  return source;
}

}  // namespace

bool SourceFile::is_header() const { return path.ends_with(".h") || path.ends_with(".hpp"); }

std::vector<SourceFile> read_sources(const fs::path& root, const std::vector<std::string>& folders) {
  std::vector<SourceFile> sources;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && is_source(entry.path())) {
        sources.push_back(read_source(root, entry.path()));
      }
    }
  }
  std::sort(sources.begin(), sources.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return sources;
}

std::vector<std::string> read_lines(const fs::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

std::string_view top_folder(std::string_view path) {
  const std::size_t end = path.find('/');
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t end = path.rfind('/');
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

std::string Fault::message() const {
  return file + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " + text;
}

}  // namespace runnel::test
