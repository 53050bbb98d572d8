// The module `http`: a server and cpp-httplib.
#include "base/host/late_library.h"
#include "services/net/http_server.h"

RUNNEL_MODULE(runnel::net::HttpServer::start)
