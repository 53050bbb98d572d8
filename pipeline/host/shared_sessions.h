// What many graphs of one program share: prepared models whose streams step together, tables of front ends,
// and scratch memory of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/host/heap_memory.h"
#include "base/status.h"
#include "inference/prepared.h"
#include "inference/session_group.h"
#include "pipeline/host/text.h"
#include "pipeline/shared_work.h"

namespace runnel::pipeline {

// One for each thread that runs graphs; not thread-safe. Outlives the graphs.
class SharedSessions final : public SharedWork {
 public:
  // `sessions`: of each model, at most.
  explicit SharedSessions(std::size_t sessions) : sessions_(sessions) {}

  // The same model with the same options is prepared once. Errors: those of Prepared::make.
  Result<const Prepared*> prepare(const Model& model, OperatorTable operators,
                                  const PrepareOptions& options) noexcept;

  // A session that steps together with others: `index` is its index in the group.
  struct Place {
    SessionGroup* group = nullptr;
    std::uint32_t index = 0;
  };
  // `prepared` is one of prepare(), for streams. Error: out_of_memory when all sessions are taken.
  Result<Place> take(const Prepared& prepared) noexcept;
  void give_back(Place place) noexcept;
  // The sessions of another block size over the states of `place.group`, under the same indices. `prepared`
  // is one of prepare(). Errors: those of SessionGroup::make.
  Result<SessionGroup*> over_states_of(const Place& place, const Prepared& prepared) noexcept;

  // Sessions that step together have different seats (SessionGroup::sit): so many may. Few, because the
  // memory of a step should stay in the nearest caches: with 32 a step took 10 % longer on a processor with
  // 512 KiB per core.
  static constexpr std::size_t kSeats = 16;

  // The same text for all graphs of equal texts, as long as one of them exists.
  std::shared_ptr<const GraphText> share(const GraphText& text);
  // Bytes that a graph of this text, one of share(), took (GraphMemory::packed_bytes); 0: none was made yet.
  [[nodiscard]] std::size_t bytes_of(const GraphText& text) const noexcept;
  void took(const GraphText& text, std::size_t bytes) noexcept;

  // Sizes are rounded up to powers of two, so that many formats share few buffers.
  std::byte* buffer(int stage, std::size_t bytes) noexcept override;
  Result<const features::Fbank*> front_end(const features::FbankOptions& options, Isa isa) noexcept override;

  // Bytes of models, sessions and scratch memory; includes sessions never used, most of whose pages are not
  // resident.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  struct Shared {
    const Model* model = nullptr;
    PrepareOptions options;
    HeapMemory memory;
    const Prepared* prepared = nullptr;
    std::unique_ptr<SessionGroup> group;
    std::vector<std::uint32_t> free;  // a stack: the next one to take is last
  };

  struct Buffer {
    int stage = 0;
    std::size_t bytes = 0;
    std::byte* data = nullptr;
  };
  struct FrontEnd {
    Isa isa = Isa::generic;
    features::Fbank fbank;
  };

  struct Text {
    std::weak_ptr<const GraphText> text;
    std::size_t bytes = 0;  // of a graph
  };

  Shared* find(const Prepared& prepared) noexcept;

  std::size_t sessions_;
  HeapMemory work_;
  std::vector<Buffer> buffers_;
  std::vector<std::unique_ptr<FrontEnd>> front_ends_;
  std::vector<Text> texts_;
  std::vector<std::unique_ptr<Shared>> all_;
};

}  // namespace runnel::pipeline
