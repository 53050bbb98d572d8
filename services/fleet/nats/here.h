// What a library calls back that knows no end: libnats may be about to call when a connection is destroyed,
// and does not wait for it. So it is given a number instead of an address, and what is no more is not found.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace runnel::fleet {

// A member of the object that is called. Thread-safe.
template <class Object>
class Here {
 public:
  explicit Here(Object& object) : number_(++all().last) {
    const std::lock_guard lock(all().mutex);
    all().objects[number_] = &object;
  }
  ~Here() { leave(); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;

  // For the library.
  [[nodiscard]] void* closure() const noexcept {
    return reinterpret_cast<void*>(number_);  // NOLINT: never an address
  }
  // From here on nothing is called; what is called now has returned. Not within a call.
  void leave() {
    const std::lock_guard lock(all().mutex);
    all().objects.erase(number_);
  }
  // Calls `what` with the object, unless it has left. Calls of all objects of this type are one after
  // another.
  template <class What>
  static void call(void* closure, What&& what) {
    const std::lock_guard lock(all().mutex);
    const auto at = all().objects.find(reinterpret_cast<std::uintptr_t>(closure));
    if (at != all().objects.end()) std::invoke(std::forward<What>(what), *at->second);
  }

 private:
  struct All {
    std::mutex mutex;
    std::map<std::uintptr_t, Object*> objects;
    std::atomic<std::uintptr_t> last{0};
  };
  // Never destroyed: the library's threads may outlive everything else.
  static All& all() {
    static All* const all = new All;
    return *all;
  }

  std::uintptr_t number_;
};

}  // namespace runnel::fleet
