#include "pipeline/host/batch/recording_list.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/crc32c.h"

namespace runnel::batch {
namespace {

namespace fs = std::filesystem;
using Folders = std::set<std::pair<dev_t, ino_t>>;

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return extension;
}

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
    if (!fs::exists(input, error) && input.find_first_of("*?[") != std::string::npos) return add_pattern(input);
    add_path(input);
    return {};
  }
  std::vector<Recording> take() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      list_[i].index = static_cast<std::int64_t>(i);
      look_at(list_[i]);
    }
    return std::move(list_);
  }

 private:
  // `named`: where the name below the folder of the call begins; npos: that of the file.
  void add_path(std::string path, std::size_t named = std::string::npos) {
    list_.emplace_back();
    const std::size_t slash = path.rfind('/');
    list_.back().named = named != std::string::npos ? named : slash == std::string::npos ? 0 : slash + 1;
    list_.back().path = std::move(path);
  }

  // Without recursion of this program: as deep as the file system allows.
  Status walk(const fs::path& top, std::vector<std::string>& found) const {
    Folders seen;
    std::vector<fs::path> folders = {top};
    while (!folders.empty()) {
      const fs::path folder = std::move(folders.back());
      folders.pop_back();
      struct stat self = {};
      if (stat(folder.c_str(), &self) != 0 || !seen.emplace(self.st_dev, self.st_ino).second) continue;
      std::error_code error;
      std::vector<fs::path> inside;
      for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        if (it->is_directory(ignored)) inside.push_back(it->path());
        else if (options_.is_recording(it->path())) found.push_back(it->path().string());
      }
      if (error) return Status(Code::io_error) << folder.string() << ": cannot be read: " << error.message();
      // The first in byte order is on top: which of several links to a folder counts does not depend on the file system.
      std::sort(inside.begin(), inside.end(), [](const fs::path& a, const fs::path& b) { return a.native() > b.native(); });
      folders.insert(folders.end(), std::make_move_iterator(inside.begin()), std::make_move_iterator(inside.end()));
    }
    return {};
  }

  Status add_folder(const std::string& folder) {
    std::vector<std::string> found;
    RUNNEL_TRY(walk(folder, found));
    if (found.empty()) return Status(Code::not_found) << folder << ": no recordings in this folder";
    std::sort(found.begin(), found.end());
    const std::size_t named = folder.size() + (folder.ends_with('/') ? 0 : 1);
    // A folder can be most of what there is: the list holds it once.
    if (found.size() > list_.size()) list_.reserve(list_.size() + found.size());
    for (std::string& path : found) add_path(std::move(path), named);
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
      if (fs::is_directory(path, error)) RUNNEL_TRY(add_folder(path));
      else add_path(path);
    }
    return {};
  }

  Status add_list(const std::string& path) {
    std::error_code error;
    std::ifstream in;
    // A FIFO is a list like any other: `@<(find ...)`.
    if (!fs::is_directory(path, error)) in.open(path, std::ios::binary);
    if (!in.is_open()) return Status(Code::not_found) << path << ": cannot be opened";
    const std::size_t before = list_.size();
    std::int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      Result<Recording> recording = parse_recording(line);
      if (!recording.ok()) return Status(recording.status().code()) << path << ", line " << number << ": " << recording.status().text();
      list_.push_back(std::move(*recording));
    }
    if (in.bad()) return Status(Code::io_error) << path << ": cannot be read behind line " << number;
    if (list_.size() == before) return Status(Code::invalid_data) << path << ": names no recordings, expected one per line";
    return {};
  }

  const ListOptions& options_;
  std::vector<Recording> list_;
};

}  // namespace

bool is_sound_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 11> kKnown = {".wav", ".flac", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".aifc", ".au", ".w64", ".caf"};
  return std::find(kKnown.begin(), kKnown.end(), lower_extension(path)) != kKnown.end();
}

bool is_sensor_name(const fs::path& path) {
  const std::string extension = lower_extension(path);
  return extension == ".csv" || extension == ".tsv" || extension == ".npy";
}

Result<std::vector<Recording>> list_recordings(std::span<const std::string> inputs, const ListOptions& options) {
  Lister lister(options);
  for (const std::string& input : inputs) RUNNEL_TRY(lister.add(input));
  return lister.take();
}

Status check_keys(std::span<const Recording> recordings, bool are_files) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const std::string key = recordings[i].key();
    if (are_files && (key.starts_with('/') || ("/" + key + "/").find("/../") != std::string::npos || key.ends_with('/'))) {
      return Status(Code::invalid_argument) << recordings[i].path << ": id \"" << key << "\", expected the name of a file below the output";
    }
    const auto [other, fresh] = places.emplace(key, i);
    if (fresh) continue;
    const Recording& first = recordings[other->second];
    return Status(Code::invalid_argument) << first.path << " and " << recordings[i].path << " would both become " << other->first << (are_files ? ".npy" : "")
                                          << (first.path == recordings[i].path ? " (pieces of one recording need ids)" : "");
  }
  return {};
}

std::uint32_t checksum(std::span<const Recording> recordings) {
  std::uint32_t sum = 0;
  for (const Recording& recording : recordings) {
    const std::string line = to_line(recording);
    sum = crc32c(std::as_bytes(std::span(line)), sum);
  }
  return sum;
}

}  // namespace runnel::batch
