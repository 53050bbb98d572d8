// How the importers reach files, for processes that can open none: a child in a sandbox.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"

namespace runnel::compiler {

// A whole file, or why there is none.
using ReadFile = std::function<Result<std::vector<std::byte>>(const std::filesystem::path& path)>;

// From here on import_file() and load_model() get their files from `read`, in the whole process: it is for a
// child process that was started for one file. Called once, before there are threads.
void read_files_by(ReadFile read);

// A file as import_file() and load_model() read it.
Result<std::vector<std::byte>> read_model_file(const std::filesystem::path& path);

// Opens the libraries that reading this file may need, judged by its first bytes (64 are enough), so that a
// process which gives up opening files can read it afterwards. What is missing is said when it is used.
void open_readers(std::span<const std::byte> first);

// The part of it for .onnx files; nothing in programs that link what these need.
void open_onnx();

}  // namespace runnel::compiler
