// Lines as a device prints them, for tests of what reads them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"

namespace runnel::test {

// With its mark, version and checksum.
inline std::string told(std::string_view body, int version = 1) {
  const std::string text = fmt::format("@runnel {} {}", version, body);
  return fmt::format("{} #{:08x}", text, crc32c(std::as_bytes(std::span(text))));
}

// The bodies of a whole report of a model with `operators` operators, 25 MHz.
inline std::vector<std::string> report_bodies(std::uint32_t model_sum, int operators) {
  std::vector<std::string> out = {
      fmt::format("begin program=words model={:08x} target=cortex-m4 hz=25000000 rate=16000 hop=160 block=1",
                  model_sum),
      "stage index=0 name=source calls=100 cycles=20000 most=250",
      "stage index=1 name=infer calls=100 cycles=980000 most=12000"};
  for (int i = 0; i < operators; ++i)
    out.push_back(fmt::format("operator first={} count=1 runs=98 cycles={} most={}", i, 98 * 1000 * (i + 1),
                              1100 * (i + 1)));
  out.insert(out.end(),
             {"time steps=100 cycles=1000000 most=12250 late=0 behind=0",
              "memory used=20760 planned=22528 fast=0 fast_planned=0 arena=512 scratch=64 state=9000",
              "stack used=2540", "stream samples=16000 lost=0 gated=0 gaps=0 events=3 dropped=0 overruns=0"});
  out.push_back(fmt::format("end lines={}", out.size() + 1));
  return out;
}

inline std::string text_of(const std::vector<std::string>& bodies) {
  std::string out;
  for (const std::string& body : bodies) out += told(body) + "\n";
  return out;
}

}  // namespace runnel::test
