// One WebSocket connection, from the handshake to its end.
#pragma once

#include <string>

#include "services/net/tls/channel.h"
#include "services/net/web_socket.h"

namespace runnel::net {

// The answer to a key of the client (RFC 6455, section 4.2.2); empty when it is not base64 of 16 bytes.
std::string accept_of(const std::string& key);

// Runs in this thread until one side closes, the client is gone, or `stop` (a descriptor) is readable: then
// the client is told that the server goes away. `begun`: bytes that came with the handshake.
void run_web_socket(Channel& channel, std::string begun, const SocketRoute& route, SocketPeer& peer,
                    int stop);

}  // namespace runnel::net
