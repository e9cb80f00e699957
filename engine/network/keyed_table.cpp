#include "engine/network/keyed_table.h"

#include "engine/network/table_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace shardscope::network {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPauseBeforeRetry{20};
constexpr std::size_t kReadSize = 64 * 1024;

Error unreached(const std::string& why) {
    return {ErrorCode::kLaunch, why};
}

/// What is read and written until a deadline.
class Line {
public:
    Line(FileDescriptor socket, Clock::time_point until)
        : m_socket(std::move(socket)), m_until(until) {}

    [[nodiscard]] bool await(short what) const {
        pollfd ready{m_socket.get(), what, 0};
        while (true) {
            const int count = ::poll(&ready, 1, millisecondsUntil(m_until));
            if (count > 0) return true;
            if ((count < 0 && errno != EINTR) || Clock::now() >= m_until) return false;
        }
    }
    [[nodiscard]] bool send(std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t count =
                ::send(m_socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count >= 0) {
                bytes = bytes.subspan(static_cast<std::size_t>(count));
            } else if ((errno != EAGAIN && errno != EINTR) || !await(POLLOUT)) {
                return false;
            }
        }
        return true;
    }
    /// Nothing: the connection has ended, or it took too long.
    [[nodiscard]] std::size_t receive(std::span<std::byte> buffer) const {
        while (await(POLLIN)) {
            const ssize_t count =
                ::recv(m_socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (count >= 0) return static_cast<std::size_t>(count);
            if (errno != EAGAIN && errno != EINTR) break;
        }
        return 0;
    }
    [[nodiscard]] FileDescriptor release() { return std::move(m_socket); }

private:
    FileDescriptor m_socket;
    Clock::time_point m_until;
};

class TableUser final : public KeyedTable {
public:
    TableUser(FileDescriptor socket, const SealPair& seals,
              std::unique_ptr<TableServer> server = nullptr)
        : m_socket(std::move(socket)), m_seals(seals), m_server(std::move(server)) {
        if (m_server) m_thread = std::thread([this] { m_server->run(); });
    }
    ~TableUser() override {
        m_socket.reset();
        if (m_thread.joinable()) m_thread.join();
    }
    TableUser(const TableUser&) = delete;
    TableUser& operator=(const TableUser&) = delete;

    Result<void> set(const std::string& name, const std::string& value) override {
        const auto answer = ask({TableRequest::Kind::kSet, 0, name, value}, {});
        if (!answer) return failure(answer);
        return {};
    }
    Result<std::optional<std::string>> get(const std::string& name,
                                           milliseconds patience) override {
        const auto wait = std::clamp<std::int64_t>(patience.count(), 0, 0xFFFFFFFF);
        return ask({TableRequest::Kind::kGet, static_cast<std::uint32_t>(wait), name, {}},
                   patience);
    }
    Result<std::string> setFirst(const std::string& name, const std::string& value) override {
        auto answer = ask({TableRequest::Kind::kSetFirst, 0, name, value}, {});
        if (!answer) return failure(answer);
        return answer->value_or(value);
    }

private:
    Result<std::optional<std::string>> ask(const TableRequest& request, milliseconds patience) {
        const std::lock_guard lock(m_mutex);
        if (!m_socket.valid()) return tl::unexpected(unreached("rank 0 is out of reach"));
        Line line(std::move(m_socket), Clock::now() + patience + kAnswerPatience);
        auto answer = exchange(line, request);
        if (answer) m_socket = line.release();  // else what comes may be of another question
        return answer;
    }

    Result<std::optional<std::string>> exchange(const Line& line, const TableRequest& request) {
        if (!line.send(sealedRecord(encode(request), m_seals.out)))
            return tl::unexpected(unreached("rank 0 is out of reach"));
        std::array<std::byte, kReadSize> buffer;
        while (true) {
            const auto message = m_records.next(m_seals.in);
            if (!message) return failure(message);
            if (message->has_value()) {
                const auto& bytes = **message;
                if (bytes.empty() || bytes[0] == std::byte{0}) return std::nullopt;
                return std::string(reinterpret_cast<const char*>(bytes.data()) + 1,
                                   bytes.size() - 1);
            }
            const std::size_t count = line.receive(buffer);
            if (count == 0) return tl::unexpected(unreached("rank 0 does not answer"));
            m_records.append(std::span(buffer).first(count));
        }
    }

    std::mutex m_mutex;
    FileDescriptor m_socket;  // all guarded by m_mutex
    SealPair m_seals;
    SealedRecords m_records{TableGuest::kLongestMessage};
    std::unique_ptr<TableServer> m_server;
    std::thread m_thread;  // last: uses m_server
};

Result<FileDescriptor> connectTo(const std::string& address, int port, Clock::time_point until) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    if (const int error =
            ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
        error != 0)
        return tl::unexpected(unreached(::gai_strerror(error)));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
    FileDescriptor socket(
        ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.valid() && ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0)
        return socket;
    if (!socket.valid() || errno != EINPROGRESS)
        return tl::unexpected(unreached(std::strerror(errno)));
    Line line(std::move(socket), until);
    if (!line.await(POLLOUT)) return tl::unexpected(unreached("timeout: nothing answers"));
    socket = line.release();
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return tl::unexpected(unreached(std::strerror(error)));
    return socket;
}

/// Of a line that is short; empty: there came none.
std::string lineOf(const Line& line) {
    constexpr std::size_t kLongest = 512;
    std::string text;
    for (std::byte next{}; text.size() < kLongest && line.receive(std::span(&next, 1)) == 1;) {
        if (next == std::byte{'\n'}) return text;
        text += static_cast<char>(next);
    }
    return {};
}

bool say(const Line& line, const std::string& text) {
    const std::string whole = text + '\n';
    return line.send(std::as_bytes(std::span(whole)));
}

/// Nothing: the connection ended before either side had proved anything.
Result<std::optional<std::unique_ptr<KeyedTable>>> introduce(Line line, const Key& key, int rank) {
    JoiningHandshake handshake(key, rankHello(rank));
    if (!say(line, handshake.hello())) return std::nullopt;
    const auto proof = handshake.prove(lineOf(line));
    if (!proof || !say(line, *proof)) return std::nullopt;
    const std::string verdict = lineOf(line);
    if (verdict.empty()) return std::nullopt;
    const auto answer = handshake.hear(verdict);
    if (answer.verdict == JoiningHandshake::Verdict::kRefused)
        return tl::unexpected(unreached(answer.sentence));
    if (answer.verdict != JoiningHandshake::Verdict::kWelcome)
        return tl::unexpected(unreached("what answers there does not know this run's key"));
    return std::make_unique<TableUser>(line.release(), handshake.seals());
}

}  // namespace

Result<std::unique_ptr<KeyedTable>> KeyedTable::serve(Listener listener, const Key& key,
                                                      int ranks) {
    std::array<int, 2> own{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own.data()) != 0)
        return tl::unexpected(unreached(std::strerror(errno)));
    const Key there = drawKey(), back = drawKey();
    auto server = std::make_unique<TableServer>(listener, key, ranks, FileDescriptor(own[0]),
                                                SealPair{Seal(back), Seal(there)});
    return std::make_unique<TableUser>(FileDescriptor(own[1]), SealPair{Seal(there), Seal(back)},
                                       std::move(server));
}

/// Strangers may crowd a rank out, which tries again.
Result<std::unique_ptr<KeyedTable>> KeyedTable::join(const std::string& address, int port,
                                                     const Key& key, int rank,
                                                     milliseconds patience) {
    const Clock::time_point until = Clock::now() + patience;
    while (true) {
        auto socket = connectTo(address, port, until);
        if (!socket) return failure(socket);
        sendAtOnce(socket->get());
        auto made = introduce(Line(std::move(*socket), until), key, rank);
        if (!made) return failure(made);
        if (made->has_value()) return std::move(**made);
        if (Clock::now() + kPauseBeforeRetry >= until)
            return tl::unexpected(unreached("timeout: nothing answers as rank 0 would"));
        std::this_thread::sleep_for(kPauseBeforeRetry);
    }
}

}  // namespace shardscope::network
