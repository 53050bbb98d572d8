#include "tests/architecture/links.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <regex>
#include <set>

namespace runnel::test {
namespace fs = std::filesystem;
namespace {

// Beside these, what lies in the root is made by builds and tools.
constexpr std::array kFolders = {
    ".ci",       "apps",     "base",     "bench",    "bridges",   "cmake",     "compiler", "decoding", "docs",
    "embed",     "examples", "features", "firmware", "inference", "kernels",   "library",  "models",   "npu",
    "packaging", "pipeline", "python",   "scripts",  "services",  "streaming", "tests",    "training"};

struct Tree {
  std::vector<std::string> files;  // every file, relative to the root
  std::set<std::string> paths;     // files and folders
  std::vector<std::string> pages;  // *.md
};

Tree read_tree(const fs::path& root) {
  Tree tree;
  const auto add = [&](const fs::directory_entry& entry) {
    const std::string path = entry.path().lexically_relative(root).generic_string();
    tree.paths.insert(path);
    if (!entry.is_regular_file()) return;
    tree.files.push_back(path);
    if (path.ends_with(".md")) tree.pages.push_back(path);
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) add(entry);
  }
  for (const char* folder : kFolders) {
    if (!fs::is_directory(root / folder)) continue;
    tree.paths.insert(folder);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) add(entry);
  }
  std::sort(tree.pages.begin(), tree.pages.end());
  return tree;
}

// As GitHub makes an anchor of a heading: lower case, blanks as '-', punctuation dropped.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto u = static_cast<unsigned char>(c);
    if (c == ' ') {
      anchor += '-';
    } else if (c == '-' || c == '_' || u >= 0x80 || std::isalnum(u) != 0) {
      anchor += static_cast<char>(std::tolower(u));
    }
  }
  return anchor;
}

// The lines of a page with blocks of code emptied.
std::vector<std::string> prose_of(const fs::path& page) {
  std::vector<std::string> lines = read_lines(page);
  bool code = false;
  for (std::string& line : lines) {
    const bool fence =
        line.find("```") == line.find_first_not_of(' ') && line.find("```") != std::string::npos;
    if (fence) code = !code;
    if (fence || code || line.starts_with("    ")) line.clear();
  }
  return lines;
}

class Links {
 public:
  explicit Links(const fs::path& root) : root_(root), tree_(read_tree(root)) {
    for (const std::string& page : tree_.pages) check(page);
  }
  [[nodiscard]] std::vector<Fault> faults() && { return std::move(faults_); }

 private:
  void check(const std::string& page) {
    made_.clear();
    static const std::regex kMade(R"re(^```.* file=(\S+).*$)re");
    for (const std::string& line : read_lines(root_ / page)) {
      std::smatch file;
      if (std::regex_match(line, file, kMade)) made_.insert(file[1]);
    }
    static const std::regex kLink(R"re(\]\(([^()\s]+)\))re");
    static const std::regex kCode(R"re(`([^`]+)`)re");
    std::size_t number = 0;
    for (const std::string& line : prose_of(root_ / page)) {
      ++number;
      for (std::sregex_iterator one(line.begin(), line.end(), kLink), end; one != end; ++one) {
        link(page, number, (*one)[1]);
      }
      for (std::sregex_iterator one(line.begin(), line.end(), kCode), end; one != end; ++one) {
        mention(page, number, (*one)[1]);
      }
    }
  }

  void link(const std::string& page, std::size_t line, const std::string& target) {
    if (target.find("://") != std::string::npos || target.starts_with("mailto:")) return;
    const std::size_t hash = target.find('#');
    const std::string file = target.substr(0, hash);
    const std::string path =
        file.empty() ? page : (fs::path(page).parent_path() / file).lexically_normal().generic_string();
    const bool folder = path.ends_with('/');
    if (!tree_.paths.contains(folder ? path.substr(0, path.size() - 1) : path)) {
      faults_.push_back({page, line, "the link to " + target + " leads nowhere: there is no " + path});
      return;
    }
    if (hash == std::string::npos || !path.ends_with(".md")) return;
    const std::string anchor = target.substr(hash + 1);
    if (!anchors(path).contains(anchor)) {
      faults_.push_back(
          {page, line, "the link to " + target + " leads nowhere: " + path + " has no such heading"});
    }
  }

  const std::set<std::string>& anchors(const std::string& page) {
    const auto [found, fresh] = anchors_.try_emplace(page);
    if (fresh) {
      for (const std::string& line : prose_of(root_ / page)) {
        const std::size_t text = line.find_first_not_of('#');
        if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
        const std::string anchor = anchor_of(std::string_view(line).substr(text + 1));
        for (int i = 0; !found->second.insert(i == 0 ? anchor : anchor + "-" + std::to_string(i)).second;)
          ++i;
      }
    }
    return found->second;
  }

  void mention(const std::string& page, std::size_t line, const std::string& text) {
    static const std::regex kPath(R"re([\w./-]+)re");
    static const std::regex kSource(R"re(.*[\w-]\.(h|cpp|cmake|fbs|tsv))re");
    static const std::regex kPlaceholder(
        R"re((^|.*[/_.-])[A-Z][A-Z_]*[A-Z]([/_.-].*|$)|.*/[A-Z]([/.].*|$))re");
    if (!std::regex_match(text, kPath) || text.find('/') == 0) return;
    const std::string path = text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
    if (path.ends_with("_generated.h") || std::regex_match(text, kPlaceholder)) return;
    // A program is named after its source.
    if (made_.contains(path) || tree_.paths.contains(path) || tree_.paths.contains(path + ".cpp")) return;
    const std::string top(top_folder(text));
    if (!top.empty() && std::find(kFolders.begin(), kFolders.end(), top) != kFolders.end()) {
      faults_.push_back({page, line, "names " + text + ", which does not exist"});
    } else if (std::regex_match(path, kSource)) {
      const auto ends_so = [&](const std::string& file) {
        return file == path || file.ends_with("/" + path);
      };
      if (std::none_of(tree_.files.begin(), tree_.files.end(), ends_so)) {
        faults_.push_back({page, line, "names " + text + ", but the tree has no file of that name"});
      }
    }
  }

  fs::path root_;
  Tree tree_;
  std::set<std::string> made_;  // the files that the reader of this page makes: ```cpp file=main.cpp
  std::map<std::string, std::set<std::string>> anchors_;  // of the pages that links led to
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> check_links(const fs::path& root) { return Links(root).faults(); }

}  // namespace runnel::test
