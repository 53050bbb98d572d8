#include "services/batch/recordings/recording_list.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/host/read_line.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::pair<dev_t, ino_t>>;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return extension;
}

// The names in a folder, in byte order; the names of folders end in a slash, so that all paths are in byte
// order.
class Names {
 public:
  void add(std::string_view name) {
    places_.push_back(static_cast<std::uint32_t>(text_.size()));
    text_.append(name);
    text_ += '\0';
  }
  void sort() {
    std::sort(places_.begin(), places_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return std::strcmp(&text_[a], &text_[b]) < 0; });
  }
  [[nodiscard]] bool full() const noexcept {
    return text_.size() > std::numeric_limits<std::uint32_t>::max() - (std::size_t{1} << 16);
  }
  // The next one; empty at the end.
  std::string_view next() {
    return next_ == places_.size() ? std::string_view() : std::string_view(&text_[places_[next_++]]);
  }

 private:
  std::string text_;
  std::vector<std::uint32_t> places_;
  std::size_t next_ = 0;
};

class Lister {
 public:
  explicit Lister(const ListOptions& options) : options_(options) {}

  Status add(const std::string& input) {
    if (input.starts_with('@')) return add_list(input.substr(1));
    const std::string extension = lower_extension(input);
    std::error_code error;
    const bool folder = fs::is_directory(input, error);
    if (!folder && (extension == ".jsonl" || extension == ".ndjson")) return add_list(input);
    if (folder) return add_folder(input);
    if (!fs::exists(input, error) && input.find_first_of("*?[") != std::string::npos)
      return add_pattern(input);
    // A missing recording gets an error record; what cannot be one was meant as a folder.
    if (!fs::exists(input, error) && extension.empty())
      return Status(Code::not_found) << input << ": there is no such file or folder, expected recordings";
    add_path(input);
    return {};
  }
  Recordings take() { return std::move(list_); }

 private:
  // `named`: where the name below the folder of the call begins; npos: at the file name.
  void add_path(std::string path, std::size_t named = std::string::npos) {
    Recording recording;
    const std::size_t slash = path.rfind('/');
    recording.named = named != std::string::npos ? named : slash == std::string::npos ? 0 : slash + 1;
    recording.path = std::move(path);
    add_recording(recording);
  }
  void add_recording(Recording& recording) {
    recording.index = static_cast<std::int64_t>(list_.size());
    look_at(recording);
    list_.push_back(recording);
  }

  // A folder that is being listed.
  struct Level {
    std::string path;  // ends in a slash
    Names names;
  };
  // False when it has been listed before, or no longer exists.
  Result<bool> open_folder(const std::string& path, Folders& seen, Level& level) const {
    struct stat self = {};
    if (stat(path.c_str(), &self) != 0) {
      if (errno == ENOENT) return false;
      return Status(Code::io_error) << path << ": cannot be read: " << std::strerror(errno);
    }
    if (!seen.emplace(self.st_dev, self.st_ino).second) return false;
    level.path = path.ends_with('/') ? path : path + '/';
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (level.names.full()) return Status(Code::io_error) << path << ": more names than fit into memory";
      if (it->is_directory(ignored))
        level.names.add(it->path().filename().native() + '/');
      else if (options_.is_recording(it->path()))
        level.names.add(it->path().filename().native());
    }
    if (error) return Status(Code::io_error) << path << ": cannot be read: " << error.message();
    level.names.sort();
    return true;
  }

  // Without recursion, so folders may be nested as deep as the file system allows. In byte order, so the
  // choice among several links to a folder does not depend on the file system.
  Status add_folder(const std::string& folder) {
    const std::size_t before = list_.size(), named = folder.size() + (folder.ends_with('/') ? 0 : 1);
    Folders seen;
    std::vector<Level> levels(1);
    RUNNEL_ASSIGN(const bool opened, open_folder(folder, seen, levels.back()));
    if (!opened) levels.clear();
    while (!levels.empty()) {
      const std::string_view name = levels.back().names.next();
      if (name.empty()) {
        levels.pop_back();
        continue;
      }
      std::string path = levels.back().path + std::string(name);
      if (!name.ends_with('/')) {
        add_path(std::move(path), named);
        continue;
      }
      path.pop_back();
      Level level;
      RUNNEL_ASSIGN(const bool fresh, open_folder(path, seen, level));
      if (fresh) levels.push_back(std::move(level));
    }
    if (list_.size() == before) return Status(Code::not_found) << folder << ": no recordings in this folder";
    return {};
  }

  Status add_pattern(const std::string& pattern) {
    glob_t found = {};
    const int result = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (result != 0) return Status(Code::not_found) << pattern << ": nothing matches";
    std::sort(paths.begin(), paths.end());
    std::error_code error;
    for (const std::string& path : paths) {
      if (fs::is_directory(path, error))
        RUNNEL_TRY(add_folder(path));
      else
        add_path(path);
    }
    return {};
  }

  Status add_list(const std::string& path) {
    std::error_code error;
    std::ifstream in;
    // A FIFO is allowed: `@<(find ...)`.
    if (!fs::is_directory(path, error)) in.open(path, std::ios::binary);
    if (!in.is_open()) return Status(Code::not_found) << path << ": cannot be opened";
    const std::size_t before = list_.size();
    std::int64_t number = 0;
    for (std::string line;;) {
      const Result<bool> more = read_line(in, line);
      if (!more.ok())
        return Status(more.status().code())
               << path << ", line " << number + 1 << ": " << more.status().text();
      if (!*more) break;
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      Result<Recording> recording = parse_recording(line);
      if (!recording.ok())
        return Status(recording.status().code())
               << path << ", line " << number << ": " << recording.status().text();
      add_recording(*recording);
    }
    if (in.bad()) return Status(Code::io_error) << path << ": cannot be read after line " << number;
    if (list_.size() == before)
      return Status(Code::invalid_data) << path << ": names no recordings, expected one per line";
    return {};
  }

  const ListOptions& options_;
  Recordings list_;
};

}  // namespace

bool is_sound_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 11> kKnown = {
      ".wav", ".flac", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc", ".au", ".w64", ".caf"};
  return std::find(kKnown.begin(), kKnown.end(), lower_extension(path)) != kKnown.end();
}

bool is_sensor_name(const fs::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".csv" || extension == ".tsv" || extension == ".npy";
}

Result<Recordings> list_recordings(std::span<const std::string> inputs, const ListOptions& options) {
  Lister lister(options);
  for (const std::string& input : inputs) RUNNEL_TRY(lister.add(input));
  return lister.take();
}

Status check_keys(const Recordings& recordings, bool are_files) {
  struct Place {
    std::size_t hash = 0, index = 0;
  };
  std::vector<Place> places;
  places.reserve(recordings.size());
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const Recording recording = recordings[i];
    const std::string key = recording.key();
    if (are_files &&
        (key.starts_with('/') || ("/" + key + "/").find("/../") != std::string::npos || key.ends_with('/'))) {
      return Status(Code::invalid_argument)
             << recording.path << ": id \"" << key << "\", expected the name of a file below the output";
    }
    places.push_back({std::hash<std::string>()(key), i});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
  });
  // Equal hashes almost always mean equal keys, so few comparisons are wasted.
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = i + 1; j < places.size() && places[j].hash == places[i].hash; ++j) {
      const Recording first = recordings[places[i].index], second = recordings[places[j].index];
      if (first.key() != second.key()) continue;
      return Status(Code::invalid_argument)
             << first.path << " and " << second.path << " would both become " << first.key()
             << (are_files ? ".npy" : "")
             << (first.path == second.path ? " (pieces of one recording need ids)" : "");
    }
  }
  return {};
}

std::uint32_t checksum(const Recordings& recordings) {
  std::uint32_t sum = 0;
  for (const Recording& recording : recordings) {
    const std::string line = to_line(recording);
    sum = crc32c(std::as_bytes(std::span(line)), sum);
  }
  return sum;
}

}  // namespace runnel::batch
