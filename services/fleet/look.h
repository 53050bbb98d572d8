// Now and then a worker looks at the entries of all streams. Otherwise it hears of those of others by notes
// alone (note.h), and a note may never come: a copy of the log lacks it, its consumer was made anew on a
// server that numbers differently, or its writer died first. Then shares differ between workers for good,
// and a stream may be everybody else's.
//
// Entries are read with a watch, as it is kept on one server: without states, and the next time on another
// one. When it is time:
//
//   every so often, `every` or 10 ms for each stream, whichever is longer: at most 100 entries a second
//   sooner, when something has been wrong for five seconds: this worker does not have its share, or a stream
//   has no owner. Then again after 20, 40, 80 ... s, as long as it stays so.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "services/fleet/exchange.h"

namespace runnel::fleet {

class Look {
 public:
  using Time = std::chrono::nanoseconds;

  // `exchange` outlives it. `part`: of the time until the first look, in thousandths, so that workers that
  // start together look one after another.
  Look(Exchange& exchange, std::string filter, Time every, std::uint64_t part);

  // Begins and ends what is due. `streams`: of the fleet; `wrong`: as above.
  void work(Time now, std::size_t streams, bool wrong);
  // Its deliveries are entries; 0: it does not look now.
  [[nodiscard]] std::uint64_t feed() const noexcept { return feed_; }
  // One of them came, with so many behind it.
  void delivered(std::uint64_t waiting, Time now);
  // Ends, for good.
  void end();

 private:
  void stop() {
    if (feed_ != 0) exchange_.leave(std::exchange(feed_, 0));
  }

  Exchange& exchange_;
  std::string filter_;
  Time every_;
  std::uint64_t part_;
  std::uint64_t feed_ = 0;
  bool ended_ = false;
  std::optional<Time> last_;  // the last look began
  std::optional<Time> wrong_since_;
  Time pause_;     // between two looks while something is wrong
  Time until_{0};  // of this look, if nothing more comes
};

}  // namespace runnel::fleet
