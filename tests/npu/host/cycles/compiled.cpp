#include "tests/npu/host/cycles/compiled.h"

#include <gtest/gtest.h>

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

std::vector<npu::Operation> decoded(const npu::Segment& segment) {
  auto out = npu::operations_of(segment);
  EXPECT_TRUE(out.ok()) << out.status().text();
  return out.ok() ? *std::move(out) : std::vector<npu::Operation>();
}

}  // namespace runnel::test
