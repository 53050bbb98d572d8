// The recordings that a call names: folders, patterns, lists, manifests and files, in the order given.
//
// * a folder: every recording below it, in byte order of the paths. Links to folders are followed, each
//   folder once, so loops end. All entries with the name of a recording are listed, also a FIFO or a broken
//   link: they become error records and are not ignored.
// * a pattern (* ? [...]), unless a file has that name: its matches, in byte order; folders among them as
//   above
// * @FILE: a path or an object of a manifest per line (recording.h); empty lines are skipped. A file whose
//   name ends in .jsonl or .ndjson is such a list without the @.
// * anything else: a recording. If it is missing, the recording fails, not the list.
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

// By extension: sound files, and the sensor recordings .csv, .tsv and .npy.
bool is_sound_name(const std::filesystem::path& path);
bool is_sensor_name(const std::filesystem::path& path);

struct ListOptions {
  // Selects the files of a folder that are recordings.
  std::function<bool(const std::filesystem::path&)> is_recording = is_sound_name;
};

// Also reads the metadata of every file. Errors: not_found for a folder or pattern without recordings and for
// a missing list; invalid_data with file and line for a wrong line; io_error for a folder that cannot be
// read.
Result<Recordings> list_recordings(std::span<const std::string> inputs, const ListOptions& options = {});

// Checks that no two recordings have the same key (Recording::key), for outputs addressed by key; with
// `are_files`, also that keys are valid file names below one folder. Error: invalid_argument, naming both.
Status check_keys(const Recordings& recordings, bool are_files);

// A checksum of the whole list: its lines and the sizes of the files.
std::uint32_t checksum(const Recordings& recordings);

}  // namespace runnel::batch
