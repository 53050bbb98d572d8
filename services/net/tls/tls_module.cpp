// The module `tls`: OpenSSL, without HTTP.
#include "base/host/late_library.h"
#include "services/net/tls/tls_entrance.h"

RUNNEL_MODULE(runnel::net::TlsEntrance::start)
