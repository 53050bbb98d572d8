#include "tests/npu/host/cycles/compiled.h"

#include <gtest/gtest.h>

#include "npu/decoder.h"

namespace runnel::test {

Compiled open_compiled(const std::filesystem::path& path) {
  Compiled out;
  const auto loaded = compiler::load_model(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().text();
  if (!loaded.ok()) return out;
  out.model = loaded->model;
  const Model& model = out.model->model();
  for (int i = 0; i < model.operator_count(); ++i) {
    if (code_of(model.op(i)) != runnel::OpCode::delegate) continue;
    auto segment = npu::read_segment(model, model.op(i));
    EXPECT_TRUE(segment.ok()) << segment.status().text();
    if (segment.ok()) out.segments.push_back(*std::move(segment));
  }
  return out;
}

std::vector<npu::Operation> operations_of(const npu::Segment& segment) {
  std::vector<npu::Operation> out;
  npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
  for (npu::Operation op;;) {
    const auto more = decoder.next(op);
    EXPECT_TRUE(more.ok()) << more.status().text();
    if (!more.ok() || !*more) return out;
    out.push_back(op);
  }
}

}  // namespace runnel::test
