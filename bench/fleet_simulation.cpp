// A day of a fleet with 100,000 streams, of which 1 % of the workers die in an hour (bench/fleet_day.h):
// balance, time without an owner, repeated chunks, and what this costs a worker that hears nothing.
//
//   build/bench/fleet_simulation [--streams 100000] [--workers 50] [--hours 24] [--deaths 0.01] [--seed 1]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "bench/fleet_day.h"

int main(int count, char** words) {
  runnel::bench::FleetDay day;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const double value = std::atof(words[i + 1]);
    if (name == "--streams")
      day.streams = static_cast<std::size_t>(value);
    else if (name == "--workers")
      day.workers = static_cast<std::size_t>(value);
    else if (name == "--hours")
      day.hours = value;
    else if (name == "--deaths")
      day.deaths_an_hour = value;
    else if (name == "--chunk")
      day.chunk = value;
    else if (name == "--save")
      day.save = value;
    else if (name == "--claims")
      day.claims = static_cast<std::size_t>(value);
    else if (name == "--quiet")
      day.quiet = value;
    else if (name == "--seed")
      day.seed = static_cast<unsigned>(value);
    else {
      std::fprintf(stderr, "fleet_simulation: unknown option %s\n", words[i]);
      return 2;
    }
  }
  if (count % 2 == 0 || day.workers == 0 || day.chunk <= 0 || day.save <= 0) {
    std::fprintf(stderr, "fleet_simulation: expected options with positive values\n");
    return 2;
  }
  const std::clock_t begin = std::clock();
  const auto result = runnel::bench::run(day);
  const double processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  using runnel::bench::quantile;
  std::printf(
      "%zu streams, %zu workers, %g h: %zu deaths, %zu replaced; %.0f s computed in %.0f s of processor "
      "time\n",
      day.streams, day.workers, day.hours, result.deaths, result.replaced, result.computed, processor);
  std::printf("streams of a worker in calm moments: %zu to %zu\n", result.least, result.most);
  std::printf("streams lost by a death: %llu; without an owner: median %.2f s, 99 %% %.2f s, most %.2f s\n",
              static_cast<unsigned long long>(result.lost_streams), quantile(result.without_owner, 0.5),
              quantile(result.without_owner, 0.99), quantile(result.without_owner, 1));
  std::printf("streams moved in peace: %llu; between owners: median %.0f ms, 99 %% %.0f ms, most %.0f ms\n",
              static_cast<unsigned long long>(result.moved_streams),
              1e3 * quantile(result.between_owners, 0.5), 1e3 * quantile(result.between_owners, 0.99),
              1e3 * quantile(result.between_owners, 1));
  std::printf("until all have their share again: median %.2f s, most %.2f s\n", quantile(result.uneven, 0.5),
              quantile(result.uneven, 1));
  std::printf(
      "chunks heard: %llu; again: %llu, %.2f for each stream that was lost (a chunk of %g s, saved every %g "
      "s)\n",
      static_cast<unsigned long long>(result.heard), static_cast<unsigned long long>(result.repeated),
      static_cast<double>(result.repeated) /
          static_cast<double>(result.lost_streams > 0 ? result.lost_streams : 1),
      day.chunk, day.save);
  std::printf("events: %llu; saves %llu, notes %llu, beats %llu; messages to workers %llu; beats kept %zu\n",
              static_cast<unsigned long long>(result.events), static_cast<unsigned long long>(result.saves),
              static_cast<unsigned long long>(result.notes), static_cast<unsigned long long>(result.beats),
              static_cast<unsigned long long>(result.deliveries), result.kept_beats);
  for (const auto& line : result.wrong) std::fprintf(stderr, "wrong: %s\n", line.c_str());
  return result.wrong.empty() ? 0 : 1;
}
