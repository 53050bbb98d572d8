#include "tests/npu/simulate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "compiler/import/load.h"
#include "npu/host/simulator/simulated_npu.h"

namespace runnel::test {

std::shared_ptr<const OwnedModel> open_model(const std::filesystem::path& path) {
  const auto loaded = compiler::load_model(path);
  EXPECT_TRUE(loaded.ok()) << loaded.status().text();
  return loaded.ok() ? loaded->model : nullptr;
}

std::vector<Bytes> run_model(const std::shared_ptr<const OwnedModel>& owned, OperatorTable table,
                             const std::vector<Bytes>& inputs) {
  const Model& model = owned->model();
  PrepareOptions options;
  options.mode = RunMode::whole;
  const std::int32_t first = model.inputs()[0];
  const int axis = model.plan() == nullptr
                       ? -1
                       : model.plan()->tensors()->Get(static_cast<std::uint32_t>(first))->time_axis();
  if (axis >= 0) options.frames = model.tensor(first).shape[axis];
  const auto engine = Engine::make(owned, options, table);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  if (!engine.ok()) return {};
  const auto runner = Runner::make(*engine);
  EXPECT_TRUE(runner.ok()) << runner.status().text();
  if (!runner.ok()) return {};
  Session& session = (*runner)->session();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto to = session.input(static_cast<int>(i));
    EXPECT_EQ(to.size(), inputs[i].size());
    if (to.size() == inputs[i].size()) std::memcpy(to.data(), inputs[i].data(), to.size());
  }
  session.run((*runner)->prepared().block());
  std::vector<Bytes> outputs;
  for (const std::int32_t tensor : model.outputs()) {
    const auto bytes = session.tensor(tensor);
    outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return outputs;
}
std::vector<Bytes> simulate(const std::shared_ptr<const OwnedModel>& owned,
                            const std::vector<Bytes>& inputs) {
  npu::SimulatedNpu npu(owned->model());
  auto outputs = run_model(owned, npu.table(), inputs);
  EXPECT_TRUE(npu.status().ok()) << npu.status().text();
  return outputs;
}

}  // namespace runnel::test
