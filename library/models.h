// The models of a program: loaded once, prepared once for all of its nodes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/heap_memory.h"
#include "compiler/import/load.h"
#include "inference/host/engine.h"
#include "inference/model/loader.h"
#include "inference/prepared.h"

namespace runnel::library {

// Thread-safe. Outlives the nodes.
class Models final : public ModelLoader {
 public:
  explicit Models(compiler::LoadOptions options) : files_(std::move(options)) {}

  // Adds the bytes of a .rnl file under a name. Errors: those of OwnedModel::from_bytes.
  Status add(const std::string& name, std::span<const std::byte> bytes, const crypto::Key* key);
  // By name, else by path.
  Result<const Model*> load(std::string_view name) noexcept override;
  // The same model with the same options is prepared once. Errors: those of Prepared::make.
  Result<const Prepared*> prepare(const Model& model, OperatorTable operators, const PrepareOptions& options);

  // All that were loaded, in the order of their names.
  [[nodiscard]] std::vector<const Model*> loaded() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Shared {
    const Model* model = nullptr;
    PrepareOptions options;
    HeapMemory memory;
    const Prepared* prepared = nullptr;
  };

  compiler::FileLoader files_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const OwnedModel>, std::less<>> added_;
  std::map<std::string, const Model*, std::less<>> by_name_;
  std::vector<std::unique_ptr<Shared>> shared_;
};

}  // namespace runnel::library
