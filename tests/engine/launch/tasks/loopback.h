// Places on loopback for tests of tasks.
#pragma once

#include "engine/network/network_interface.h"
#include "storage/model/file_descriptor.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace shardscope::launch {

/// That nothing uses at this moment.
inline std::int32_t freePort() {
    const auto listener = network::listenOn("127.0.0.1").value();
    ::close(listener.fd);
    return listener.port;
}

/// Where rank 0's task should be, before it is there.
inline FileDescriptor listenAsStranger(std::int32_t port) {
    FileDescriptor stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    ::setsockopt(stranger.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(stranger.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(stranger.get(), 16), 0);
    return stranger;
}

}  // namespace shardscope::launch
