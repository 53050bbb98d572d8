// Feeds input from outside through all stages: opens, prepares and runs it as programs do. For the robustness
// tests and the fuzzers; the caller checks the failure.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/import/espdl/importer.h"

namespace runnel::test {

// Memory limit of one input: more than any of the small originals needs, and far less than a forged
// file could request.
inline constexpr std::size_t kMemoryLimit = std::size_t{64} << 20;

// A model file: opens and describes it, compares its test vectors, prepares it for blocks and for clips, and
// runs it a few times either way. Returns the first failure, or ok. With `check_crc` false, damage reaches
// the checks after the checksums.
Status feed_model(std::span<const std::byte> bytes, bool check_crc);

// An .espdl file: imports it and writes it as a model file, which must open. feed_model covers the runtime.
Status feed_espdl(std::span<const std::byte> bytes,
                  compiler::EspdlTarget target = compiler::EspdlTarget::automatic);
// The same for a member of a package, or an encrypted model.
Status feed_espdl(std::span<const std::byte> bytes, const compiler::EspdlOptions& options);

// An .onnx, .tflite, .pte or .bpte file, by its content: the same.
Status feed_foreign(std::span<const std::byte> bytes);

// An .onnx file with attention whose first input is [1, T, C]: the same, as a stream over a window of three
// frames.
Status feed_attention(std::span<const std::byte> bytes);

// A recording, through its source node, with the given parameters ("truncated=accept", ...).
Status feed_recording(const std::filesystem::path& path, std::string_view parameters = {});

// The text of a graph: parses, writes and parses it again; then builds it, with nodes that neither read nor
// write files, and runs it.
Status feed_graph(std::string_view text);

}  // namespace runnel::test
