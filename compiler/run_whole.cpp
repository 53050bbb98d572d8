#include "compiler/run_whole.h"

#include <cstring>

#include "compiler/write/writer.h"
#include "inference/host/engine.h"

namespace runnel::compiler {

Result<std::vector<Buffers>> run_whole(const Graph& graph, const std::vector<Buffers>& calls,
                                       std::int64_t frames, bool plan, OperatorTable operators) {
  WriteOptions write;
  write.blocks.clear();
  write.plan = plan;
  RUNNEL_ASSIGN(const WrittenModel written, write_model(graph, write));
  RUNNEL_ASSIGN(auto model, OwnedModel::from_bytes(written.bytes));
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = frames;
  RUNNEL_ASSIGN(auto engine, Engine::make(std::move(model), options, operators));
  RUNNEL_ASSIGN(const auto runner, Runner::make(std::move(engine)));
  Session& session = runner->session();
  std::vector<Buffers> results;
  for (const Buffers& inputs : calls) {
    if (inputs.size() != graph.inputs.size())
      return Status(Code::mismatch) << inputs.size() << " inputs, the graph has " << graph.inputs.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::span<std::byte> to = session.input(static_cast<int>(i));
      if (to.size() != inputs[i].size())
        return Status(Code::mismatch)
               << "input " << i << " takes " << to.size() << " bytes, found " << inputs[i].size();
      std::memcpy(to.data(), inputs[i].data(), to.size());
    }
    session.run(runner->prepared().block());
    Buffers outputs;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const std::byte* const data = session.output(static_cast<int>(i)).data;
      outputs.emplace_back(data, data + runner->prepared().placement(runner->model().outputs()[i]).bytes);
    }
    results.push_back(std::move(outputs));
  }
  return results;
}

}  // namespace runnel::compiler
