// The functions of runnel_host.h: checks at the door, and no exception leaves.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/limits.h"
#include "base/version.h"
#include "library/failure.h"
#include "library/node.h"
#include "library/runner.h"
#include "library/settings.h"

using runnel::Code;
using runnel::DType;
using runnel::Status;
using runnel::library::fail;
using runnel::library::guarded;
using runnel::library::Program;

namespace {

runnel_code null_pointer(std::string_view what) noexcept {
  const Status status = Status(Code::invalid_argument) << "a null pointer instead of " << what;
  return fail(status);
}

// Loads with `make`, which takes settings and returns a program.
template <class Make>
runnel_code load(const char* settings, runnel_program** program, const Make& make) noexcept {
  return guarded([&]() -> Status {
    RUNNEL_ASSIGN(const runnel::library::Settings parsed,
                  runnel::library::parse_settings(settings == nullptr ? "" : settings));
    RUNNEL_ASSIGN(auto made, make(parsed));
    *program = new runnel_program{std::move(made)};
    return {};
  });
}

runnel_code push(runnel_node* node, const void* samples, std::size_t frames, DType dtype) noexcept {
  if (node == nullptr || (samples == nullptr && frames > 0)) return null_pointer("node or samples");
  return guarded([&] { return node->push(samples, frames, dtype); });
}

}  // namespace

const char* runnel_version(void) { return runnel::kVersion.data(); }

runnel_code runnel_load_file(const char* path, const char* settings, runnel_program** program) {
  if (program == nullptr) return null_pointer("the program");
  *program = nullptr;
  if (path == nullptr) return null_pointer("the path");
  return load(settings, program, [&](const auto& parsed) { return Program::from_file(path, parsed); });
}

runnel_code runnel_load_memory(const void* bytes, size_t size, const char* settings,
                               runnel_program** program) {
  if (program == nullptr) return null_pointer("the program");
  *program = nullptr;
  if (bytes == nullptr) return null_pointer("the model's bytes");
  return load(settings, program, [&](const auto& parsed) {
    return Program::from_memory({static_cast<const std::byte*>(bytes), size}, parsed);
  });
}

runnel_code runnel_load_graph(const char* text, const char* settings, runnel_program** program) {
  if (program == nullptr) return null_pointer("the program");
  *program = nullptr;
  if (text == nullptr) return null_pointer("the graph");
  return load(settings, program, [&](const auto& parsed) { return Program::from_graph(text, parsed); });
}

void runnel_release(runnel_program* program) { delete program; }

const char* runnel_graph_of(const runnel_program* program) {
  return program == nullptr ? nullptr : program->of->text().c_str();
}

double runnel_delay_of(const runnel_program* program) {
  double delay = -1;
  if (program == nullptr) return delay;
  guarded([&]() -> Status {
    delay = program->of->delay();
    return {};
  });
  return delay;
}

runnel_facts runnel_facts_of(const runnel_program* program) {
  runnel_facts facts = {};
  if (program == nullptr) return facts;
  guarded([&]() -> Status {
    facts = program->of->facts();
    return {};
  });
  return facts;
}

const char* runnel_label(const runnel_program* program, uint32_t index) {
  return program != nullptr && index < program->of->labels().size() ? program->of->labels()[index] : nullptr;
}

runnel_code runnel_prepare(const runnel_program* program, const runnel_options* options, runnel_node** node) {
  if (node == nullptr) return null_pointer("the node");
  *node = nullptr;
  if (program == nullptr) return null_pointer("the program");
  return guarded([&]() -> Status {
    RUNNEL_ASSIGN(auto made,
                  runnel_node::make(program->of, options == nullptr ? runnel_options{} : *options));
    *node = made.release();
    return {};
  });
}

void runnel_close(runnel_node* node) { delete node; }

runnel_code runnel_push_int16(runnel_node* node, const int16_t* samples, size_t frames) {
  return push(node, samples, frames, DType::int16);
}
runnel_code runnel_push_float(runnel_node* node, const float* samples, size_t frames) {
  return push(node, samples, frames, DType::float32);
}

runnel_code runnel_lost(runnel_node* node, uint64_t frames) {
  if (node == nullptr || frames > static_cast<std::uint64_t>(runnel::limits::kRecordingFrames))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer, or more lost samples than there can be");
  return guarded([&] { return node->lose(frames); });
}

runnel_code runnel_end(runnel_node* node) {
  if (node == nullptr) return null_pointer("the node");
  return guarded([&] { return node->end(); });
}

int runnel_poll(runnel_node* node, runnel_event* event) {
  return node != nullptr && event != nullptr && node->outbox->fetch(*event) ? 1 : 0;
}

const char* runnel_line(runnel_node* node) {
  if (node == nullptr) return nullptr;
  const char* line = "";
  guarded([&]() -> Status {
    line = node->outbox->line();
    return {};
  });
  return line;
}

int runnel_poll_frames(runnel_node* node, runnel_stage stage, runnel_frames* frames) {
  if (node == nullptr || frames == nullptr || (stage != RUNNEL_FEATURES && stage != RUNNEL_OUTPUT)) return 0;
  bool found = false;
  guarded([&]() -> Status {
    found = node->outbox->fetch(stage, *frames);
    return {};
  });
  return found ? 1 : 0;
}

int runnel_poll_text(runnel_node* node, runnel_text* text) {
  return node != nullptr && text != nullptr && node->outbox->fetch(*text) ? 1 : 0;
}

runnel_code runnel_reset(runnel_node* node) {
  if (node == nullptr) return null_pointer("the node");
  return guarded([&]() -> Status {
    node->reset();
    return {};
  });
}

size_t runnel_saved_bytes(const runnel_node* node) {
  std::size_t bytes = 0;
  if (node == nullptr) return bytes;
  guarded([&]() -> Status {
    bytes = node->saved_bytes();
    return node->program->saveable();
  });
  return bytes;
}

runnel_code runnel_save(const runnel_node* node, void* to, size_t bytes) {
  if (node == nullptr || to == nullptr) return null_pointer("node or bytes");
  return guarded([&] { return node->save({static_cast<std::byte*>(to), bytes}); });
}

runnel_code runnel_restore(runnel_node* node, const void* from, size_t bytes) {
  if (node == nullptr || from == nullptr) return null_pointer("node or bytes");
  return guarded([&] { return node->restore({static_cast<const std::byte*>(from), bytes}); });
}

runnel_code runnel_clone(const runnel_node* node, runnel_node** copy) {
  if (copy == nullptr) return null_pointer("the copy");
  *copy = nullptr;
  if (node == nullptr) return null_pointer("the node");
  return guarded([&]() -> Status {
    std::vector<std::byte> bytes(node->saved_bytes());
    RUNNEL_TRY(node->save(bytes));
    RUNNEL_ASSIGN(auto made, runnel_node::make(node->program, runnel_options{}));
    RUNNEL_TRY(made->restore(bytes));
    *copy = made.release();
    return {};
  });
}

runnel_counters runnel_counters_of(const runnel_node* node) {
  return node == nullptr ? runnel_counters{} : node->counters();
}

runnel_code runnel_set_gate(runnel_node* node, runnel_gate gate) {
  if (node == nullptr || !(gate.threshold >= 0))
    return fail(RUNNEL_INVALID_ARGUMENT, "a null pointer instead of the node, or a threshold below 0");
  node->gate.set(gate);
  node->gate.reset();
  return RUNNEL_OK;
}

runnel_code runnel_open_runner(const runnel_program* program, int64_t frames, runnel_runner** runner) {
  if (runner == nullptr) return null_pointer("the runner");
  *runner = nullptr;
  if (program == nullptr) return null_pointer("the program");
  return guarded([&]() -> Status {
    RUNNEL_ASSIGN(auto made, runnel_runner::make(program->of, frames));
    *runner = made.release();
    return {};
  });
}

namespace {

runnel_code tensor_of(const std::vector<runnel_tensor>& tensors, std::string_view what, std::uint32_t index,
                      runnel_tensor* tensor) noexcept {
  if (index >= tensors.size()) {
    const Status status = Status(Code::not_found)
                          << what << ' ' << index << ": the model has " << tensors.size();
    return fail(status);
  }
  *tensor = tensors[index];
  return RUNNEL_OK;
}

}  // namespace

runnel_code runnel_input_of(const runnel_runner* runner, uint32_t index, runnel_tensor* tensor) {
  if (runner == nullptr || tensor == nullptr) return null_pointer("runner or tensor");
  return tensor_of(runner->inputs, "input", index, tensor);
}

runnel_code runnel_output_of(const runnel_runner* runner, uint32_t index, runnel_tensor* tensor) {
  if (runner == nullptr || tensor == nullptr) return null_pointer("runner or tensor");
  return tensor_of(runner->outputs, "output", index, tensor);
}

runnel_code runnel_run(runnel_runner* runner) {
  if (runner == nullptr) return null_pointer("the runner");
  return guarded([&]() -> Status {
    runner->run();
    return {};
  });
}

void runnel_close_runner(runnel_runner* runner) { delete runner; }
