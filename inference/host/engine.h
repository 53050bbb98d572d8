// The runtime for hosts: owns bytes and memory, so that callers need not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/host/key.h"
#include "base/status.h"
#include "inference/host/thread_pool.h"
#include "inference/model/model.h"
#include "inference/prepared.h"
#include "inference/session.h"

namespace runnel {

// A model and its bytes.
class OwnedModel {
 public:
  // Copies the bytes of a .rnl file into aligned memory and opens them; those of an encrypted one are
  // decrypted with `key`. Errors: those of Model::open and of decrypt_model.
  static Result<std::shared_ptr<const OwnedModel>> from_bytes(std::span<const std::byte> bytes,
                                                              const ModelOptions& options = {},
                                                              const crypto::Key* key = nullptr);
  // Reads a .rnl file, plain or encrypted. Errors name the file.
  static Result<std::shared_ptr<const OwnedModel>> from_file(const std::filesystem::path& path,
                                                             const crypto::Key* key = nullptr);

  [[nodiscard]] const Model& model() const noexcept { return *model_; }

 private:
  HeapMemory memory_;
  std::optional<Model> model_;
};

// A whole file in memory. Errors name the file and why; more than `limit` bytes is an error.
Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& path,
                                               std::size_t limit = std::size_t{1} << 31);

// A prepared model with its memory; shared by any number of Runners, from any thread.
class Engine {
 public:
  static Result<std::shared_ptr<const Engine>> make(std::shared_ptr<const OwnedModel> model,
                                                    const PrepareOptions& options = {},
                                                    OperatorTable table = all_operators());

  [[nodiscard]] const Prepared& prepared() const noexcept { return *prepared_; }
  [[nodiscard]] const Model& model() const noexcept { return model_->model(); }
  // Bytes of packed weights and tables.
  [[nodiscard]] std::size_t prepared_bytes() const noexcept { return memory_.used(); }

 private:
  std::shared_ptr<const OwnedModel> model_;
  HeapMemory memory_;
  const Prepared* prepared_ = nullptr;
};

// One session with a workspace of its own, and with threads of its own when the engine was prepared for
// several.
class Runner {
 public:
  static Result<std::unique_ptr<Runner>> make(std::shared_ptr<const Engine> engine);

  [[nodiscard]] Session& session() noexcept { return *session_; }
  [[nodiscard]] const Prepared& prepared() const noexcept { return engine_->prepared(); }
  [[nodiscard]] const Model& model() const noexcept { return engine_->model(); }

 private:
  std::shared_ptr<const Engine> engine_;
  HeapMemory memory_;
  std::unique_ptr<ThreadPool> threads_;
  std::optional<Session> session_;
};

}  // namespace runnel
