// page.html, embedded by the build.
#pragma once

#include <string_view>

#include "services/net/http_server.h"

namespace runnel::page {

extern const std::string_view kDocument;

// With the headers that keep it alone: nothing is loaded from elsewhere, and no other page may frame it.
net::HttpReply document_reply();

}  // namespace runnel::page
