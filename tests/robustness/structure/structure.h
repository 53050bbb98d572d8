// Damage that knows the structure of what it damages: containers stay whole, with lengths and offsets that
// are right (or wrong on purpose), and what they say is changed. Random damage is mostly refused by the first
// checks of a container; this reaches the checks behind them.
//
// One list of kinds, which the tests of robustness, the test of many mutations and the fuzzers share.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "tests/robustness/structure/random.h"

namespace runnel::test {

// One to four changes, those of a container included. `other`, a file of the same kind, gives parts to copy;
// it may be empty. Nothing when `file` has no such structure (any bytes may be given).
using ChangeStructure = std::optional<Bytes> (*)(std::span<const std::byte> file,
                                                 std::span<const std::byte> other, Random& random);

std::optional<Bytes> change_rnl(std::span<const std::byte> file, std::span<const std::byte> other,
                                Random& random);
std::optional<Bytes> change_tflite(std::span<const std::byte> file, std::span<const std::byte> other,
                                   Random& random);
std::optional<Bytes> change_espdl(std::span<const std::byte> file, std::span<const std::byte> other,
                                  Random& random);
// .pte and .bpte.
std::optional<Bytes> change_pte(std::span<const std::byte> file, std::span<const std::byte> other,
                                Random& random);
// Any protobuf message; of .onnx files.
std::optional<Bytes> change_protobuf(std::span<const std::byte> file, std::span<const std::byte> other,
                                     Random& random);
// Recordings: RIFF, RIFX, RF64, AIFF, W64 and FLAC.
std::optional<Bytes> change_chunks(std::span<const std::byte> file, std::span<const std::byte> other,
                                   Random& random);
// Texts of graphs, with the words of the program's own nodes.
std::optional<Bytes> change_graph_text(std::span<const std::byte> file, std::span<const std::byte> other,
                                       Random& random);
std::optional<Bytes> change_json(std::span<const std::byte> file, std::span<const std::byte> other,
                                 Random& random);
// Payloads of the Ethos-U's driver: COP1 and COP2, of every product.
std::optional<Bytes> change_npu_stream(std::span<const std::byte> file, std::span<const std::byte> other,
                                       Random& random);

struct Structure {
  std::string_view kind;  // as the fuzzer and the folder in tests/corpus are called; json: of all such texts
  ChangeStructure change;
};
std::span<const Structure> structures();
// By the kind; null: there is none.
ChangeStructure structure_of(std::string_view kind);

}  // namespace runnel::test
