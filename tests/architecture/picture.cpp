#include "tests/architecture/picture.h"

#include <map>
#include <regex>
#include <set>

#include "tests/architecture/include_rules.h"

namespace runnel::test {
namespace fs = std::filesystem;
namespace {

struct Arrow {
  std::string from, to;
  bool operator<(const Arrow& other) const { return from != other.from ? from < other.from : to < other.to; }
};

struct Picture {
  std::size_t line = 0;                        // where the block begins
  std::map<Arrow, std::size_t> arrows;         // and their lines
  std::map<std::string, std::string> classes;  // "device" or "host" by folder, as drawn
};

Picture read_picture(const fs::path& root) {
  // A folder, its text and its class: kernels["..."]:::device
  static const std::regex kNode(R"re((\w+)(?:\[[^\]]*\])?(?::::(\w+))?)re");
  static const std::regex kArrow(R"re(^\s*(\S.*\S)\s*-->\s*(\S.*\S|\S)\s*$)re");
  Picture picture;
  std::size_t number = 0;
  for (const std::string& line : read_lines(root / kPicturePage)) {
    ++number;
    if (picture.line == 0) {
      if (line.starts_with("```mermaid")) picture.line = number;
      continue;
    }
    if (line.starts_with("```")) break;
    std::smatch arrow;
    if (!std::regex_match(line, arrow, kArrow)) continue;
    std::string ends[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string text = arrow[i + 1];
      std::smatch node;
      if (!std::regex_match(text, node, kNode)) continue;
      ends[i] = node[1];
      std::string& drawn = picture.classes[ends[i]];
      if (node[2].matched) drawn = node[2];
    }
    picture.arrows[{ends[0], ends[1]}] = number;
  }
  return picture;
}

// Where the arrows lead from `from`.
std::set<std::string> reachable(const Picture& picture, const std::string& from) {
  std::set<std::string> found;
  std::vector<std::string> open = {from};
  while (!open.empty()) {
    const std::string one = open.back();
    open.pop_back();
    for (const auto& [arrow, line] : picture.arrows) {
      if (arrow.from == one && found.insert(arrow.to).second) open.push_back(arrow.to);
    }
  }
  return found;
}

}  // namespace

std::vector<Fault> check_picture(const fs::path& root) {
  const Picture picture = read_picture(root);
  std::map<Arrow, std::string> used;  // an #include for each pair of folders
  std::set<std::string> folders;
  for (const std::string& folder : product_folders()) {
    if (fs::is_directory(root / folder)) folders.insert(folder);
  }
  for (const SourceFile& source : read_sources(root, product_folders())) {
    const std::string from(top_folder(source.path));
    for (const Include& include : source.includes) {
      const std::string to(top_folder(include.target));
      if (from != to && folders.contains(to)) {
        used.try_emplace({from, to}, source.path + " includes " + include.target);
      }
    }
  }

  std::vector<Fault> faults;
  for (const auto& [arrow, line] : picture.arrows) {
    if (!used.contains(arrow)) {
      faults.push_back({kPicturePage, line,
                        "draws " + arrow.from + " --> " + arrow.to + ", but nothing in " + arrow.from +
                            "/ includes " + arrow.to + "/; remove the arrow"});
    }
  }
  for (const auto& [arrow, example] : used) {
    if (!reachable(picture, arrow.from).contains(arrow.to)) {
      faults.push_back({kPicturePage, picture.line,
                        example + ", but no arrows lead from " + arrow.from + " to " + arrow.to + "; draw " +
                            arrow.from + " --> " + arrow.to});
    }
  }
  for (const std::string& folder : folders) {
    const auto drawn = picture.classes.find(folder);
    const char* const is = is_device_folder(folder) ? "device" : "host";
    if (drawn == picture.classes.end()) {
      faults.push_back({kPicturePage, picture.line, "the folder " + folder + "/ is not drawn"});
    } else if (drawn->second != is) {
      faults.push_back({kPicturePage, picture.line,
                        folder + " is drawn as \"" + drawn->second + "\", but is " + is + " code"});
    }
  }
  return faults;
}

}  // namespace runnel::test
