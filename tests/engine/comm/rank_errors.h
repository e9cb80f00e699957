// What each of several ranks, threads with a communicator each, has to say when it fails.
#pragma once

#include "engine/comm/direct_communicator.h"
#include "engine/comm/gloo/gloo_communicator.h"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace shardscope::test {

using RankCall = std::function<void(comm::Communicator&)>;
/// Makes the communicator of a rank.
using RankMaker = std::function<std::unique_ptr<comm::Communicator>(int rank)>;

/// By rank; empty where nothing failed. Communicators go when all ranks have ended.
inline std::vector<std::string> errorsOf(int ranks, const RankMaker& make, const RankCall& call) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    std::vector<std::unique_ptr<comm::Communicator>> kept(errors.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            const auto at = static_cast<std::size_t>(rank);
            try {
                kept[at] = make(rank);
                call(*kept[at]);
            } catch (const comm::CommunicationError& error) {
                errors[at] = error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
}

inline std::vector<std::string> directErrors(
    int ranks, const RankCall& call, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    auto segment = comm::Segment::anonymous(std::size_t{64} << 20, ranks);
    if (!segment) throw std::runtime_error(segment.error().message);
    return errorsOf(
        ranks,
        [&](int rank) {
            return comm::makeDirectCommunicator(*segment, rank, nullptr, "threads", timeout);
        },
        call);
}

/// Over Gloo's ring on the loopback interface.
inline std::vector<std::string> glooErrors(
    int ranks, const RankCall& call, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    auto segment = comm::Segment::anonymous(std::size_t{1} << 20, ranks);
    if (!segment) throw std::runtime_error(segment.error().message);
    return errorsOf(
        ranks,
        [&](int rank) {
            const auto host = comm::makeDirectCommunicator(*segment, rank, nullptr, "threads");
            auto made = comm::makeGlooCommunicator({.host = host.get(), .timeout = timeout});
            host->barrier({}).wait();
            return made;
        },
        call);
}

}  // namespace shardscope::test
