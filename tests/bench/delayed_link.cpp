#include "tests/bench/delayed_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace shardscope::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// As much as a window of ssh's lets lie between both ends.
constexpr std::size_t kMostOnTheWay = std::size_t{2} << 20;

struct Piece {
    Clock::time_point due;
    std::vector<char> bytes;
};

void carry(int from, int to, const LinkFacts& facts) {
    std::deque<Piece> pieces;
    std::size_t onTheWay = 0;
    Clock::time_point free = Clock::now();  // when the link has sent all it has
    bool open = true;
    while (open || !pieces.empty()) {
        int wait = -1;
        if (!pieces.empty()) {
            const auto left = pieces.front().due - Clock::now();
            wait = static_cast<int>(std::max<std::int64_t>(
                0, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
        }
        const bool takes = open && onTheWay < kMostOnTheWay;
        pollfd readable{takes ? from : -1, POLLIN, 0};
        if (::poll(&readable, 1, wait) > 0) {
            Piece piece;
            piece.bytes.resize(8 * 1024);
            const ssize_t count = ::read(from, piece.bytes.data(), piece.bytes.size());
            open = count > 0;
            piece.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
            const std::chrono::duration<double> sending(static_cast<double>(piece.bytes.size()) /
                                                        facts.bytesPerSecond);
            free = std::max(free, Clock::now()) + std::chrono::ceil<Clock::duration>(sending);
            piece.due = free + facts.oneWay;
            onTheWay += piece.bytes.size();
            if (open) pieces.push_back(std::move(piece));
        }
        while (!pieces.empty() && pieces.front().due <= Clock::now()) {
            const Piece& piece = pieces.front();
            for (std::size_t done = 0; done < piece.bytes.size();) {
                const ssize_t count =
                    ::send(to, piece.bytes.data() + done, piece.bytes.size() - done, MSG_NOSIGNAL);
                if (count <= 0) break;
                done += static_cast<std::size_t>(count);
            }
            onTheWay -= piece.bytes.size();
            pieces.pop_front();
        }
    }
    ::shutdown(to, SHUT_WR);
}

}  // namespace

DelayedLink::DelayedLink(const LinkFacts& facts) {
    std::array<int, 2> one{}, other{};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, one.data());
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, other.data());
    m_ends = {one[0], other[0]};
    m_inner = {one[1], other[1]};
    m_threads[0] = std::thread([this, facts] { carry(m_inner[0], m_inner[1], facts); });
    m_threads[1] = std::thread([this, facts] { carry(m_inner[1], m_inner[0], facts); });
}

DelayedLink::~DelayedLink() {
    for (std::thread& thread : m_threads) thread.join();
    for (const int fd : m_inner) ::close(fd);
}

}  // namespace shardscope::bench
