#include "services/page/document.h"

namespace runnel::page {

net::HttpReply document_reply() {
  net::HttpReply reply;
  reply.headers = {{"Content-Security-Policy",
                    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
                    "connect-src 'self'; media-src 'self'; base-uri 'none'; frame-ancestors 'none'"},
                   {"Cache-Control", "no-store"},
                   {"Referrer-Policy", "no-referrer"}};
  reply.type = "text/html; charset=utf-8";
  reply.body = kDocument;
  return reply;
}

}  // namespace runnel::page
