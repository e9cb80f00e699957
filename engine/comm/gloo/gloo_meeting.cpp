#include "engine/comm/gloo/gloo_meeting.h"

#include "engine/network/network_interface.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

namespace shardscope::comm {
namespace {

/// A double holds 32 bits exactly, and so does the sum of them and zeros.
constexpr std::size_t kWordBytes = 4;
constexpr std::size_t kKeyWords = std::tuple_size_v<network::Key> / kWordBytes;

std::array<double, kKeyWords> wordsOf(const network::Key& key) {
    std::array<double, kKeyWords> words{};
    for (std::size_t i = 0; i < key.size(); ++i)
        words[i / kWordBytes] = words[i / kWordBytes] * 256 + key[i];
    return words;
}

network::Key keyOf(std::span<const double> words) {
    network::Key key;
    for (std::size_t i = 0; i < key.size(); ++i)
        key[i] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(words[i / kWordBytes]) >>
                                           (24 - 8 * (i % kWordBytes)));
    return key;
}

std::string waitKey(int rank) {
    return fmt::format("waits/{}", rank);
}

/// Whom `rank` waits for in the end; itself where it waits for none, or ranks for each other.
int endOfChain(network::KeyedTable& table, int own, int rank) {
    std::set<int> met{own};
    for (int at = rank; met.insert(at).second;) {
        const auto text = table.get(waitKey(at), {});
        if (!text || !text->has_value()) return at;
        const int next = std::stoi(**text);
        if (next == WaitWatch::kNoRank) return at;
        at = next;
    }
    return rank;
}

/// One that is late for another is not to blame.
std::string sentence(network::KeyedTable& table, const std::string& why, int own, int late) {
    if (late == WaitWatch::kNoRank) return why;
    const int end = endOfChain(table, own, late);
    return end == late ? why : fmt::format("rank {} holds up rank {}: {}", end, late, why);
}

}  // namespace

WorldMeeting agreeOnMeeting(Communicator& host, const std::string& address) {
    network::Listener listener;
    std::string why;
    std::array<double, 1 + kKeyWords> agreed{};
    if (host.rank() == 0) {
        if (auto listening = network::listenOn(address)) {
            listener = *listening;
        } else {
            why = listening.error().message;
        }
        agreed[0] = static_cast<double>(listener.port);
        std::ranges::copy(wordsOf(network::drawKey()), agreed.begin() + 1);
    }
    host.allReduceSmall(agreed, Reduction::kSum, {Cause::kStart}).wait();
    if (agreed[0] == 0) {
        throw CommunicationError(why.empty() ? "rank 0 cannot listen for the others" : why);
    }
    return {host.rank(), host.size(),
            address,     static_cast<int>(agreed[0]),
            listener.fd, keyOf(std::span(agreed).subspan(1))};
}

RankTable meetAt(const WorldMeeting& meeting, std::chrono::milliseconds timeout) {
    auto met = meeting.rank == 0 ? network::KeyedTable::serve({meeting.listenFd, meeting.port},
                                                              meeting.key, meeting.size)
                                 : network::KeyedTable::join(meeting.address, meeting.port,
                                                             meeting.key, meeting.rank, timeout);
    if (!met) throw std::runtime_error(met.error().message);
    return std::move(*met);
}

void tellWait(const RankTable& table, int rank, int waitsFor) {
    static_cast<void>(table->set(waitKey(rank), std::to_string(waitsFor)));
}

std::string firstWords(const RankTable& table, const std::string& why, int own, int late) {
    constexpr std::chrono::seconds kPatience{2};
    std::promise<std::string> said;
    std::future<std::string> first = said.get_future();
    std::thread([table, why, own, late, said = std::move(said)]() mutable {
        said.set_value(table->setFirst("given up", sentence(*table, why, own, late)).value_or(why));
    }).detach();
    return first.wait_for(kPatience) == std::future_status::ready ? first.get() : why;
}

}  // namespace shardscope::comm
