// What a conformance run found out, one JSON object per line in the file that RUNNEL_CONFORMANCE_OUT names;
// conformance_page makes docs/conformance.md of it.
#pragma once

#include <string>

namespace runnel::test {

struct ConformanceRecord {
  std::string folder;            // "conformance", "espdl/models", "espdl/tcn"
  std::string file;              // inside of it
  std::string op, target, kind;  // kind: op, model, stream, steps
  int bits = 0;
  std::string result;  // exact, within, ran (nothing recorded to compare with), failed, not run
  double largest = 0, absolute = 0,
         relative = 0;  // difference found, and the one allowed: absolute + relative * |expected|
  std::string note;     // one short sentence
};

// Appends the record; nothing without RUNNEL_CONFORMANCE_OUT.
void record_conformance(const ConformanceRecord& record);

}  // namespace runnel::test
