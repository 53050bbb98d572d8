#include "base/host/output_name.h"

#include <algorithm>
#include <string>

namespace runnel {
namespace {

constexpr std::string_view kKnown[] = {
    ".rnl", ".rnlg", ".tflite", ".pte",  ".bpte", ".ptd",  ".onnx", ".espdl", ".pb",      // models and graphs
    ".npy", ".npz",  ".csv",    ".tsv",  ".ark",  ".scp",  ".json", ".jsonl", ".ndjson",  // numbers, records
    ".wav", ".flac", ".ogg",    ".aiff", ".mp3",  ".opus",                                // recordings
    ".png", ".jpg",  ".jpeg",   ".svg",  ".pdf",                                          // pictures
    ".srt", ".vtt",  ".ctm"};                                                             // transcripts

}  // namespace

Status check_output_name(const std::filesystem::path& path, std::initializer_list<std::string_view> written) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (std::find(std::begin(kKnown), std::end(kKnown), extension) == std::end(kKnown) ||
      std::find(written.begin(), written.end(), extension) != written.end())
    return {};
  std::error_code error;
  if (written.size() == 0 && std::filesystem::is_directory(path, error)) return {};
  Status status(Code::invalid_argument);
  status << path.string() << ": " << extension << " is not what is written here, expected ";
  if (written.size() == 0) status << "the name of a folder";
  for (const std::string_view& one : written) status << (&one == written.begin() ? "" : " or ") << one;
  return status;
}

}  // namespace runnel
