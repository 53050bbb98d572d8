// A build without libcurl: what needs the network says so.
#include "services/models/fetch/download.h"

namespace runnel::models {

Status can_download() {
  return Status(Code::unsupported,
                "this runnel was built without libcurl (RUNNEL_CURL), which fetches models");
}

Status download(const Download& what) { return can_download().at(what.address); }

}  // namespace runnel::models
