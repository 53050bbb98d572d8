#include "tests/architecture/rooms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "tests/architecture/include_rules.h"

namespace runnel::test {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInstalledUser = "tests/install/project";  // built against an installation

enum class Readers { nobody, library, tree, users };  // each includes the ones before it

const char* name_of(Readers readers) {
  switch (readers) {
    case Readers::nobody:
      return "nobody";
    case Readers::library:
      return "library";
    case Readers::tree:
      return "tree";
    case Readers::users:
      return "users";
  }
  return "";
}

std::optional<Readers> readers_of(std::string_view name) {
  for (const Readers one : {Readers::library, Readers::tree, Readers::users}) {
    if (name == name_of(one)) return one;
  }
  return std::nullopt;
}

bool is_within(std::string_view folder, std::string_view room) {
  return folder == room || (folder.starts_with(room) && folder[room.size()] == '/');
}

// Stands for a program outside of the tree.
bool is_user(std::string_view file) {
  return top_folder(file) == "examples" || is_within(folder_of(file), kInstalledUser);
}

// A header of flatc is made by the build, another one from its NAME.h.in.
bool exists(const fs::path& root, const std::string& header) {
  return header.ends_with("_generated.h") || fs::exists(root / header) || fs::exists(root / (header + ".in"));
}

// Who has to be allowed to read `header` so that `file` may include it.
Readers needed(std::string_view file, std::string_view header) {
  const std::string_view from = folder_of(file);
  const std::string_view room = folder_of(header);
  if (is_user(file)) return Readers::users;
  if (top_folder(file) != top_folder(header)) return Readers::tree;
  if (is_within(from, room) || folder_of(room) == from) return Readers::nobody;
  return Readers::library;
}

// One line of rooms.txt.
struct PublicHeader {
  std::size_t line = 0;
  Readers readers = Readers::nobody;
  Readers used = Readers::nobody;  // what the includes of the tree need
};

struct Rooms {
  std::vector<std::string> comments;            // the lines before the first header
  std::map<std::string, PublicHeader> headers;  // by path
  std::vector<Fault> faults;                    // of the file itself
};

Rooms read_rooms(const fs::path& root) {
  Rooms rooms;
  if (!fs::exists(root / kRoomsFile)) return rooms;
  std::size_t number = 0;
  std::string before;
  for (const std::string& text : read_lines(root / kRoomsFile)) {
    ++number;
    if (text.empty() || text.starts_with('#')) {
      rooms.comments.push_back(text);
      continue;
    }
    std::istringstream words(text);
    std::string header;
    std::string readers;
    std::string more;
    words >> header >> readers >> more;
    const std::optional<Readers> who = readers_of(readers);
    if (!who || !more.empty()) {
      rooms.faults.push_back(
          {kRoomsFile, number, "\"" + text + "\": expected a header and one of library, tree, users"});
      continue;
    }
    if (header <= before) {
      rooms.faults.push_back(
          {kRoomsFile, number,
           header + " comes after " + before + "; order the lines by header, one line each"});
    }
    before = header;
    rooms.headers[header] = {number, *who, Readers::nobody};
  }
  return rooms;
}

// "tests/architecture/rooms.txt, after line 7, add: HEADER READERS".
std::string advice(const Rooms& rooms, const std::string& header, Readers readers) {
  const std::string line = "\"" + header + " " + name_of(readers) + "\"";
  const auto found = rooms.headers.find(header);
  if (found != rooms.headers.end()) {
    return "change line " + std::to_string(found->second.line) + " of " + kRoomsFile + " to " + line;
  }
  const auto next = rooms.headers.lower_bound(header);
  const std::size_t after =
      next == rooms.headers.begin() ? rooms.comments.size() : std::prev(next)->second.line;
  return "add " + line + " after line " + std::to_string(after) + " of " + kRoomsFile;
}

class Walls {
 public:
  explicit Walls(const fs::path& root) : rooms_(read_rooms(root)), faults_(rooms_.faults) {
    std::vector<std::string> folders = product_folders();
    for (const SourceFile& source : read_sources(root, folders)) read(source);
    for (const SourceFile& source : read_sources(root, {"examples", kInstalledUser})) read(source);
    for (const auto& [header, entry] : rooms_.headers) judge(root, header, entry);
    std::stable_sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) {
      return a.file != b.file ? a.file < b.file : a.line < b.line;
    });
  }
  [[nodiscard]] const Rooms& rooms() const { return rooms_; }
  [[nodiscard]] const std::map<std::string, Readers>& used() const { return used_; }
  [[nodiscard]] std::vector<Fault> faults() && { return std::move(faults_); }

 private:
  void read(const SourceFile& source) {
    const std::vector<std::string> folders = product_folders();
    for (const Include& include : source.includes) {
      const std::string& header = include.target;
      if (std::find(folders.begin(), folders.end(), top_folder(header)) == folders.end()) continue;
      const Readers need = needed(source.path, header);
      if (need == Readers::nobody) continue;
      Readers& used = used_[header];
      used = std::max(used, need);
      const auto found = rooms_.headers.find(header);
      if (found == rooms_.headers.end() || found->second.readers < need) {
        faults_.push_back({source.path, include.line, refusal(source.path, header, need)});
      }
    }
  }

  [[nodiscard]] std::string refusal(const std::string& file, const std::string& header, Readers need) const {
    const std::string room(folder_of(header));
    const auto found = rooms_.headers.find(header);
    const char* const is =
        found == rooms_.headers.end() ? "private to its room" : "public to its library only";
    const char* const closed =
        found != rooms_.headers.end() && found->second.readers == Readers::tree ? "not public to users" : is;
    return "includes \"" + header + "\", which is " + closed + "; use a public header of " + room +
           "/, move what " + std::string(folder_of(file)) + "/ needs, or, if others should depend on it, " +
           advice(rooms_, header, need);
  }

  void judge(const fs::path& root, const std::string& header, const PublicHeader& entry) {
    const auto found = used_.find(header);
    const Readers used = found == used_.end() ? Readers::nobody : found->second;
    if (entry.readers == Readers::users) {
      if (!exists(root, header)) faults_.push_back({kRoomsFile, entry.line, header + " does not exist"});
    } else if (used == Readers::nobody) {
      faults_.push_back(
          {kRoomsFile, entry.line,
           header + " is listed, but nothing outside of its room includes it; remove the line"});
    } else if (used < entry.readers) {
      faults_.push_back({kRoomsFile, entry.line,
                         header + " is listed as public to the tree, but only its library includes it; " +
                             advice(rooms_, header, used)});
    }
  }

  Rooms rooms_;
  std::map<std::string, Readers> used_;
  std::vector<Fault> faults_;
};

void check_sizes(const fs::path& root, std::vector<Fault>& faults) {
  std::map<std::string, std::size_t> files;
  for (const std::string& folder : product_folders()) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && !name.starts_with('.')) {
        ++files[entry.path().parent_path().lexically_relative(root).generic_string()];
      }
    }
  }
  for (const auto& [folder, count] : files) {
    if (count > kLargestRoom) {
      faults.push_back({folder, 0,
                        "a folder of " + std::to_string(count) + " files, at most " +
                            std::to_string(kLargestRoom) +
                            "; move some that belong together into a subfolder"});
    }
  }
}

}  // namespace

std::vector<Fault> check_rooms(const fs::path& root) {
  std::vector<Fault> faults = Walls(root).faults();
  check_sizes(root, faults);
  return faults;
}

std::string needed_rooms(const fs::path& root) {
  const Walls walls(root);
  std::map<std::string, Readers> needed = walls.used();
  for (const auto& [header, entry] : walls.rooms().headers) {
    if (entry.readers == Readers::users && exists(root, header)) needed[header] = Readers::users;
  }
  std::string text;
  for (const std::string& comment : walls.rooms().comments) text += comment + "\n";
  for (const auto& [header, readers] : needed) text += header + " " + name_of(readers) + "\n";
  return text;
}

}  // namespace runnel::test
