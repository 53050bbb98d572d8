// A recording of a batch: a file or a piece of one, and what its line of a manifest says about it.
//
// A manifest has one JSON object per line:
//
//     {"path":"a.wav","offset":1.5,"duration":2,"id":"a-1","speaker":"f3"}
//
// Only `path` is required. `path` may be a URI (file:///data/a%FF.wav), which can say names that are not
// UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace runnel::batch {

struct Recording {
  std::string path;           // as the system has it: any bytes
  std::string id;             // empty: none was given
  std::string fields;         // a JSON object of what else the manifest says; empty: nothing
  double offset = 0;          // where the piece begins, in seconds
  double duration = 0;        // how long it is, in seconds; 0: to the end of the file
  std::int64_t bytes = -1;    // of the file when the list was made; -1: there was none
  std::int64_t modified = 0;  // of the file, in ns since 1970
  std::int64_t index = 0;     // in the whole list, of all shards
  std::size_t named = 0;  // where in `path` begins what the recording is called: after the folder that the
                          // call named, else after its own

  // What a share of the work is measured in: the size of the file, or of a piece as if it were 16-bit sound
  // of 16 kHz.
  [[nodiscard]] std::int64_t cost() const noexcept;
  // What its outputs are called: the id, or the name without its extension. UTF-8 without white space; what
  // is neither is written as in a URI.
  [[nodiscard]] std::string key() const;
};

// A line of a manifest, or a plain path. Errors: invalid_data, without the place of the line.
Result<Recording> parse_recording(std::string_view line);
// Everything about a recording in one line, for journals; parse_listed() reads it back.
std::string to_line(const Recording& recording);
Result<Recording> parse_listed(std::string_view line);

// `path` as a JSON string: as it is when it is UTF-8, else as a file URI, with quotes.
std::string path_string(std::string_view path);

// Looks at the file: sets `bytes` and `modified`.
void look_at(Recording& recording) noexcept;
// Whether the file can be read without waiting (no FIFO, device or folder) and is the one that the list was
// made of. Does not open it. Errors: not_found, invalid_argument, mismatch.
Status check_file(const Recording& recording);

// `line`, a JSON object, with the id and the fields of the recording at its end.
std::string with_fields(std::string_view line, const Recording& recording);

}  // namespace runnel::batch
