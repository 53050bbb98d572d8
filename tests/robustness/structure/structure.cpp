#include "tests/robustness/structure/structure.h"

namespace runnel::test {

std::span<const Structure> structures() {
  static constexpr Structure kAll[] = {
      {"model", change_rnl},
      {"espdl", change_espdl},
      {"tflite", change_tflite},
      {"pte", change_pte},
      {"onnx", change_protobuf},
      {"recording", change_chunks},
      {"graph", change_graph_text},
      {"npu", change_npu_stream},
      {"json", change_json},
      {"catalogue", change_json},
      {"card", change_json},
      {"manifest", change_json},
      {"calibration_table", change_json},
  };
  return kAll;
}

ChangeStructure structure_of(std::string_view kind) {
  for (const Structure& structure : structures()) {
    if (structure.kind == kind) return structure.change;
  }
  return nullptr;
}

}  // namespace runnel::test
