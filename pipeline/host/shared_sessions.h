// Models that many graphs of one program share: prepared once, their streams stepped together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "inference/prepared.h"
#include "inference/session_group.h"

namespace runnel::pipeline {

// One for each thread that runs graphs; not thread-safe. Outlives the graphs.
class SharedSessions {
 public:
  // `sessions`: of each model, at most.
  explicit SharedSessions(std::size_t sessions) : sessions_(sessions) {}

  // Whoever asks for the same model with the same options gets the same. Errors: those of Prepared::make.
  Result<const Prepared*> prepare(const Model& model, OperatorTable operators, const PrepareOptions& options) noexcept;

  // A session that is stepped together with others: `index` is its place in the group.
  struct Place {
    SessionGroup* group = nullptr;
    std::uint32_t index = 0;
  };
  // `prepared` is one of prepare(), for streams. Error: out_of_memory when all sessions are taken.
  Result<Place> take(const Prepared& prepared) noexcept;
  void give_back(Place place) noexcept;

  // Memory of models and sessions; of sessions that were never used the system has kept most of it.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  struct Shared {
    const Model* model = nullptr;
    PrepareOptions options;
    HeapMemory memory;
    const Prepared* prepared = nullptr;
    std::unique_ptr<SessionGroup> group;
    std::vector<std::uint32_t> free;   // the next one to be taken last
  };

  std::size_t sessions_;
  std::vector<std::unique_ptr<Shared>> all_;
};

}  // namespace runnel::pipeline
