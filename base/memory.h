// Memory of prepared objects. Device code allocates only from a Memory that its caller provides, and
// only while preparing.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

namespace runnel {

// Hands out blocks that are freed together, with the Memory. Not thread-safe.
class Memory {
 public:
  // nullptr when exhausted. `alignment` is a power of two, at most 64.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;

  // An array of value-initialised trivial objects; nullptr when exhausted. A count of 0 gives
  // a valid pointer.
  template <class T>
  T* array(std::size_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T>, "nobody will call the destructor");
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) return nullptr;
    void* memory = allocate(count * sizeof(T), alignof(T));
    if (memory == nullptr) return nullptr;
    T* first = static_cast<T*>(memory);
    for (std::size_t i = 0; i < count; ++i) new (first + i) T();
    return first;
  }

 protected:
  ~Memory() = default;
};

// A fixed block of memory, handed out from its start.
class FixedMemory final : public Memory {
 public:
  explicit FixedMemory(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::span<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace runnel
