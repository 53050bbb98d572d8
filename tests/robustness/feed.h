// What comes from outside, taken as far as it goes: opened, prepared and run as programs do. Used by the
// tests of robustness and by the fuzzers; whoever calls looks at the failure.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/import/espdl/importer.h"

namespace runnel::test {

// What one input may cost: more than any of the small originals needs, and far less than a file that lies
// could ask for.
inline constexpr std::size_t kMemoryLimit = std::size_t{64} << 20;

// A model file: opened, described, its test vectors compared, prepared for blocks and for clips, and run a
// few times either way. The first failure, or ok. With `check_crc` false, damage reaches the checks after
// the checksums.
Status feed_model(std::span<const std::byte> bytes, bool check_crc);

// An .espdl file: imported and written as a model file, which must open. What the runtime does with that is
// feed_model's subject.
Status feed_espdl(std::span<const std::byte> bytes,
                  compiler::EspdlTarget target = compiler::EspdlTarget::automatic);
// The same for a member of a package, or an encrypted model.
Status feed_espdl(std::span<const std::byte> bytes, const compiler::EspdlOptions& options);

// An .onnx, .tflite, .pte or .bpte file, by its content: the same.
Status feed_foreign(std::span<const std::byte> bytes);

// A recording, through the node that reads it, with the given parameters ("truncated=accept", ...).
Status feed_recording(const std::filesystem::path& path, std::string_view parameters = {});

// The text of a graph: parsed, written and parsed again; then built, with nodes that neither read nor write
// files, and run.
Status feed_graph(std::string_view text);

}  // namespace runnel::test
