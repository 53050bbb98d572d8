// A recording of a batch: a file or a piece of one, with the data of its line in a manifest.
//
// A manifest has one JSON object per line:
//
//     {"path":"a.wav","offset":1.5,"duration":2,"id":"a-1","speaker":"f3"}
//
// Only `path` is required. `path` may be a URI (file:///data/a%FF.wav), which can encode names that are not
// UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::batch {

struct Recording {
  std::string path;           // as in the file system: any bytes
  std::string id;             // empty: none was given
  std::string fields;         // a JSON object with all other keys of the manifest; may be empty
  double offset = 0;          // start of the piece, in seconds
  double duration = 0;        // length of the piece, in seconds; 0: to the end of the file
  std::int64_t bytes = -1;    // size of the file when the list was made; -1: no such file
  std::int64_t modified = 0;  // of the file, in ns since 1970
  std::int64_t index = 0;     // in the whole list, of all shards
  std::size_t named = 0;      // where the recording's name begins in `path`: after the folder that the
                              // call named, or else after its own folder

  // The estimated cost: the size of the file, or of a piece in 16-bit samples at 16 kHz.
  [[nodiscard]] std::int64_t cost() const noexcept;
  // The name of its outputs: the id, or the file name without extension. UTF-8 without white space; other
  // bytes are escaped as in a URI.
  [[nodiscard]] std::string key() const;
};

// Parses a line of a manifest, or a plain path. Errors: invalid_data, without the line number.
Result<Recording> parse_recording(std::string_view line);
// All fields of a recording as one line for journals; parse_listed() reads it back.
std::string to_line(const Recording& recording);
Result<Recording> parse_listed(std::string_view line);

// `path` as a JSON string with quotes: unchanged if it is UTF-8, else as a file URI.
std::string path_string(std::string_view path);

// Reads the file's metadata: sets `bytes` and `modified`.
void look_at(Recording& recording) noexcept;
// Checks that the file is a regular one (reading a FIFO or device could block) and unchanged since the list
// was made. Does not open it. Errors: not_found, invalid_argument, mismatch.
Status check_file(const Recording& recording);

// `line`, a JSON object, with the id and the fields of the recording at its end.
std::string with_fields(std::string_view line, const Recording& recording);

}  // namespace runnel::batch
