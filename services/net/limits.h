// What a stranger on the network can make this program hold and wait for.
#pragma once

#include <chrono>
#include <cstddef>

namespace runnel::net {

// Of a request over HTTP.
inline constexpr std::size_t kLongestHead = 8192;  // bytes of the request line and the headers
inline constexpr std::size_t kMostHeaders = 64;
inline constexpr std::size_t kLongestBody = 1024;

// Of a connection before it has said what it wants.
inline constexpr std::chrono::milliseconds kHandshakeTime{5000};  // of TLS
inline constexpr std::chrono::milliseconds kHeadTime{5000};       // for a whole request, after the handshake
// Connections in this state, at one address of ours. Beyond that the oldest one makes room when it is
// kWaitingPatience old; newcomers wait in the system's queue until then.
inline constexpr std::size_t kMostWaiting = 512;
inline constexpr std::chrono::milliseconds kWaitingPatience{250};
// For a refused client to read why.
inline constexpr std::chrono::milliseconds kFarewellTime{500};

// Of one address of another machine: an IPv4 address, or a network of IPv6 (64 bits).
inline constexpr int kMostConnections = 64;      // at a time
inline constexpr double kConnectionRate = 20;    // a second, in the long run
inline constexpr double kConnectionBurst = 200;  // at once, after a pause
// What a wrong token, a failed handshake or a broken first message costs, in connections.
inline constexpr double kBlame = 10;
// Addresses that are remembered; all others together share one entry.
inline constexpr std::size_t kMostAddresses = 16384;

// A file of tokens.
inline constexpr std::size_t kMostTokens = 1024;
inline constexpr std::size_t kShortestToken = 16, kLongestToken = 1000;  // bytes

}  // namespace runnel::net
