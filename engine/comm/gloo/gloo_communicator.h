// Ranks that are joined by TCP: a ring over the sends and receives of LibTorch's Gloo.
//
// Gloo's own reduce-scatter is an all-reduce, and its collectives end the process when ranks
// disagree on a size; of Gloo this uses connections and messages only. It is compiled against the
// headers of Debian's libgloo-dev; without them the engine has no Gloo and says so.
#pragma once

#include "engine/comm/communicator.h"
#include "engine/comm/mesh.h"
#include "engine/network/keyed_hash.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace shardscope::comm {

/// Where ranks of several hosts meet.
struct WorldMeeting {
    int rank = 0, size = 1;
    std::string address = {};  ///< numeric, of rank 0's host
    int port = 0;
    int listenFd = -1;   ///< rank 0's: listens there already; closed once all are there
    network::Key key{};  ///< that they prove to each other
};

struct GlooSetup {
    /// Ranks of one host agree on a port through it; used during the call only.
    Communicator* host = nullptr;
    /// Name or address of a network interface; empty: loopback, which joins ranks of one host.
    std::string interface = {};
    /// In place of `host`. `interface` is the one that the other hosts reach this one on.
    std::optional<WorldMeeting> world = {};
    // Both may be null and outlive the communicator.
    control::Observer* observer = nullptr;  ///< hears of collectives
    control::Observer* memory = nullptr;    ///< hears of the communicator's own buffers
    std::chrono::milliseconds timeout{60'000};
    bool encrypt = false;  ///< messages, on all ranks
};

[[nodiscard]] bool hasGloo();

/// What reports call it.
inline constexpr const char* kGlooProtocol = "TCP (Gloo)";

/// Blocks until all ranks are connected. Throws CommunicationError. From then on the process
/// ignores SIGPIPE, unless it handles it: a lost peer is an error, not the end.
std::unique_ptr<Communicator> makeGlooCommunicator(const GlooSetup& setup);
/// The connections alone.
std::shared_ptr<Mesh> makeGlooMesh(const GlooSetup& setup);

}  // namespace shardscope::comm
