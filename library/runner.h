// A model over whole tensors: the implementation of runnel_runner.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "inference/session.h"
#include "library/program.h"
#include "library/runnel_host.h"

struct runnel_runner {
  // Errors: those of runnel_open_runner().
  static runnel::Result<std::unique_ptr<runnel_runner>> make(
      const std::shared_ptr<const runnel::library::Program>& program, std::int64_t frames);

  void run() noexcept;

  std::vector<runnel_tensor> inputs, outputs;

 private:
  void describe(int tensor, std::span<const std::byte> data, runnel_tensor& to);

  std::shared_ptr<const runnel::library::Program> program_;
  const runnel::Model* model_ = nullptr;
  const runnel::Prepared* prepared_ = nullptr;
  runnel::HeapMemory memory_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::vector<std::byte>> given_, results_;  // inputs and outputs outlive the run's own memory
  std::optional<runnel::Session> session_;
};
