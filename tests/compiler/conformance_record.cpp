#include "tests/compiler/conformance_record.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace runnel::test {

void record_conformance(const ConformanceRecord& record) {
  const char* path = std::getenv("RUNNEL_CONFORMANCE_OUT");
  if (path == nullptr) return;
  const nlohmann::ordered_json line = {
      {"folder", record.folder},     {"file", record.file},       {"op", record.op},
      {"bits", record.bits},         {"target", record.target},   {"kind", record.kind},
      {"result", record.result},     {"largest", record.largest}, {"absolute", record.absolute},
      {"relative", record.relative}, {"note", record.note}};
  std::ofstream(path, std::ios::app) << line.dump() << '\n';
}

}  // namespace runnel::test
