// The recordings that a call names: folders, patterns, lists, manifests and files, in the order given.
//
// * a folder: every recording below it, in byte order of the paths. Links to folders are followed, each
// folder once, so loops end.
//   Whatever has a recording's name is listed, also a FIFO or a link to nothing: it becomes an error record,
//   not silence.
// * a pattern (* ? [...]), unless a file has that name: what matches, in byte order; folders among it as
// above
// * @FILE: a path or an object of a manifest per line (recording.h); empty lines are passed over. A file
// whose name ends in .jsonl or
//   .ndjson is such a list without the @.
// * anything else: a recording. That it is not there is the recording's failure, not the list's.
//
// A path may appear several times. Memory: the list (recordings.h), and the names of the folders that are
// being read, while they are read.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "services/batch/recordings/recordings.h"

namespace runnel::batch {

// By the end of its name: sound files, and the sensor recordings .csv, .tsv and .npy.
bool is_sound_name(const std::filesystem::path& path);
bool is_sensor_name(const std::filesystem::path& path);

struct ListOptions {
  // What counts as a recording in a folder.
  std::function<bool(const std::filesystem::path&)> is_recording = is_sound_name;
};

// Looks at every file, too. Errors: not_found for a folder or pattern without recordings and for a list that
// is not there; invalid_data with file and line for a wrong line; io_error for a folder that cannot be read.
Result<Recordings> list_recordings(std::span<const std::string> inputs, const ListOptions& options = {});

// That no two recordings have one key (Recording::key), for outputs that are found by it; `are_files`: and
// that they are names of files below one folder. Error: invalid_argument, naming both.
Status check_keys(const Recordings& recordings, bool are_files);

// A checksum of the whole list: what it names, and the sizes found.
std::uint32_t checksum(const Recordings& recordings);

}  // namespace runnel::batch
