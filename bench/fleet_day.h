// A day of a fleet in one thread: any number of streams, workers that die and are replaced, and the code that
// workers really have (services/fleet/work/worker.h), over an exchange and an engine that cost nothing. Time
// is counted, not waited for; hours in which nobody dies or comes are left out, because one second of them is
// like another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel::bench {

struct FleetDay {
  std::size_t streams = 100000, workers = 50;
  double hours = 24, deaths_an_hour = 0.01;  // of each worker
  double replaced_after = 30;                // s
  double chunk = 1, save = 5;                // s
  std::int64_t travels = 2;                  // ms, of a message in one direction
  std::size_t claims = 0;                    // of a worker under way at a time; 0: as workers have it
  double quiet = 8;                          // s that are computed of an hour in which nothing happens
  unsigned seed = 1;
};

struct FleetDayResult {
  std::size_t deaths = 0, replaced = 0;
  double computed = 0;                 // s of the day
  std::uint64_t heard = 0;             // chunks
  std::uint64_t repeated = 0;          // heard by somebody before
  std::uint64_t lost_streams = 0;      // by a death
  std::vector<double> without_owner;   // s, for each of them
  std::uint64_t moved_streams = 0;     // handed over in peace
  std::vector<double> between_owners;  // s, for each of them
  std::size_t least = 0, most = 0;     // streams of a worker, over all calm moments
  std::vector<double> uneven;          // s after each death or start until all have their share
  std::uint64_t events = 0, appends = 0, notes = 0, saves = 0, beats = 0, deliveries = 0;
  std::size_t kept_beats = 0;      // keys of beats in the bucket at the end
  std::vector<std::string> wrong;  // what must not be; at most some
};

FleetDayResult run(const FleetDay& day);

// The value below which a share of them is; 0 for none.
double quantile(std::vector<double> values, double share);

}  // namespace runnel::bench
