#include "services/score/recording_names.h"

namespace runnel::pipeline {
namespace {

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// Whether one path equals the other, or is its end.
bool same_recording(const std::string& a, const std::string& b) {
  const std::string &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  if (!longer.ends_with(shorter)) return false;
  return longer.size() == shorter.size() || shorter.starts_with('/') ||
         longer[longer.size() - shorter.size() - 1] == '/';
}

}  // namespace

RecordingNames::RecordingNames(const Truth& truth) {
  for (const TruthRow& row : truth.rows) names_[base_name(row.recording)].insert(row.recording);
}

Result<std::string> RecordingNames::find(const std::string& source) const {
  std::string found;
  const auto near = names_.find(base_name(source));
  if (near == names_.end()) return found;
  for (const std::string& name : near->second) {
    if (!same_recording(name, source)) continue;
    if (name == source) return name;
    if (!found.empty())
      return Status(Code::mismatch) << source << ": is both " << found << " and " << name
                                    << " of the labels; call recordings by longer names";
    found = name;
  }
  return found;
}

}  // namespace runnel::pipeline
