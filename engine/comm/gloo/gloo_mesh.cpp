#include "engine/comm/gloo/gloo_meeting.h"
#include "engine/comm/proved_mesh.h"
#include "engine/network/network_interface.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <gloo/context.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::comm {
namespace {

/// Hears when the connection to a peer ends, and ends the messages to and from it.
///
/// Gloo itself reports only messages that have not begun: one that is half written, or half read,
/// when the peer dies waits until its timeout (tcp::Pair::signalException() passes over the
/// operations in hand, as of LibTorch 2.11). A receive that nothing answers never begins, so it is
/// always reported.
class ConnectionEnd {
public:
    using Work = c10::intrusive_ptr<c10d::Work>;
    /// No ring's: they count from zero.
    static constexpr int kTag = 0x7fffffff;

    /// `receive` begins a receive of one byte on kTag, and throws where the connection has ended.
    explicit ConnectionEnd(const std::function<Work(std::vector<at::Tensor>&)>& receive);
    ~ConnectionEnd();
    ConnectionEnd(const ConnectionEnd&) = delete;
    ConnectionEnd& operator=(const ConnectionEnd&) = delete;

    /// `message` is given up when the connection ends, or has ended. Any thread.
    void add(const Work& message);
    void remove(const Work& message);

private:
    void listen();

    std::vector<at::Tensor> m_row;
    const Work m_neverAnswered;
    std::mutex m_mutex;
    std::vector<Work> m_messages;  // guarded by m_mutex
    bool m_ended = false;          // guarded by m_mutex
    std::thread m_thread;          // last: uses all of the above
};

constexpr std::chrono::hours kForEver{24 * 3650};

ConnectionEnd::ConnectionEnd(const std::function<Work(std::vector<at::Tensor>&)>& receive)
    : m_row{at::zeros({1}, at::kByte)},
      m_neverAnswered(receive(m_row)),
      m_thread([this] { listen(); }) {}

ConnectionEnd::~ConnectionEnd() {
    m_neverAnswered->abort();
    m_thread.join();
}

void ConnectionEnd::listen() {
    const at::DisableRecordFunctionGuard bookkeeping;
    try {
        m_neverAnswered->wait(kForEver);
    } catch (const std::exception&) {  // what it was waited for
    }
    const std::lock_guard lock(m_mutex);
    m_ended = true;
    for (const Work& message : m_messages) message->abort();
}

void ConnectionEnd::add(const Work& message) {
    const std::lock_guard lock(m_mutex);
    m_messages.push_back(message);
    if (m_ended) message->abort();
}

void ConnectionEnd::remove(const Work& message) {
    const std::lock_guard lock(m_mutex);
    const auto found = std::find(m_messages.begin(), m_messages.end(), message);
    std::swap(*found, m_messages.back());
    m_messages.pop_back();
}

bool isTimeout(std::string_view text) {
    return text.find("imed out") != text.npos || text.find("imeout") != text.npos;
}

class GlooTransfer final : public Transfer {
public:
    GlooTransfer(c10::intrusive_ptr<c10d::Work> work, std::shared_ptr<WaitWatch> watch,
                 std::shared_ptr<ConnectionEnd> end, int peer)
        : m_work(std::move(work)), m_watch(std::move(watch)), m_end(std::move(end)), m_peer(peer) {
        m_end->add(m_work);
    }
    ~GlooTransfer() override { m_end->remove(m_work); }
    GlooTransfer(const GlooTransfer&) = delete;
    GlooTransfer& operator=(const GlooTransfer&) = delete;

    void wait(std::chrono::milliseconds timeout) override {
        const at::DisableRecordFunctionGuard bookkeeping;
        const WaitWatch::Waiting waiting = m_watch->waitsFor(m_peer);
        try {
            // The end of the connection gives up what came before it as well: asked once more.
            if (m_work->wait(timeout) || isThere()) return;
        } catch (const std::exception& error) {  // gloo::IoException is no c10::Error
            const std::string_view text = error.what();
            throw TransferError(
                isTimeout(text) ? TransferError::Kind::kTimeout : TransferError::Kind::kLost,
                std::string(text.substr(0, text.find('\n'))));
        }
        throw TransferError(TransferError::Kind::kLost, "the connection has ended");
    }

private:
    [[nodiscard]] bool isThere() {
        try {
            return m_work->wait(std::chrono::milliseconds(1));
        } catch (const std::exception&) {
            return false;
        }
    }

    const c10::intrusive_ptr<c10d::Work> m_work;
    const std::shared_ptr<WaitWatch> m_watch;
    const std::shared_ptr<ConnectionEnd> m_end;
    const int m_peer;
};

/// Its contexts are the derived class's business.
class Connections final : public c10d::ProcessGroupGloo {
public:
    using ProcessGroupGloo::ProcessGroupGloo;
    /// Debian's header is of another version than what LibTorch holds, whose Context has no virtual
    /// functions: good for calls of functions by name, which this is, not for what it says of the
    /// object's memory.
    __attribute__((no_sanitize("vptr"))) void close() {
        for (const auto& context : contexts_) context->closeConnections();
    }
};

/// No ring's either.
constexpr int kProofTag = ConnectionEnd::kTag - 1;

at::Tensor tensorOf(const std::string& text) {
    return at::from_blob(const_cast<char*>(text.data()), {static_cast<std::int64_t>(text.size())},
                         at::kByte)
        .clone();
}

struct ListeningDevice {
    std::shared_ptr<gloo::transport::Device> device;
    std::vector<int> listeners;  ///< what it listens on
};

/// One at a time, so that what it listens on is what is new.
ListeningDevice makeDevice(const std::string& address) {
    static std::mutex onlyOne;
    const std::lock_guard lock(onlyOne);
    const std::vector<network::OwnListener> before = network::ownListeners();
    std::shared_ptr<gloo::transport::Device> device =
        c10d::ProcessGroupGloo::createDeviceForHostname(address);
    return {std::move(device), network::listenersSince(before)};
}

class GlooMesh final : public Mesh {
public:
    GlooMesh(RankTable table, const WorldMeeting& meeting, const std::string& address,
             std::chrono::milliseconds timeout)
        : m_rank(meeting.rank),
          m_size(meeting.size),
          m_timeout(timeout),
          m_table(std::move(table)),
          m_watch(std::make_shared<WaitWatch>(
              timeout / 2,
              [table = m_table, rank = m_rank](int peer) { tellWait(table, rank, peer); })) {
        const auto [device, listeners] = makeDevice(address);
        auto options = c10d::ProcessGroupGloo::Options::create(timeout);
        options->threads = 1;  // for Gloo's own collectives
        options->devices.push_back(device);
        m_connections =
            c10::make_intrusive<Connections>(storeOf(m_table, timeout), m_rank, m_size, options);
        m_ends.resize(static_cast<std::size_t>(m_size));
        m_keys = proveRanks(meeting.key, m_rank, m_size,
                            [this](const auto& texts) { return swap(texts); });
        // Gloo can neither close its port nor bear that it is closed.
        for (const int each : listeners) network::dropAllThatComes(each);
    }

    int rank() const override { return m_rank; }
    int size() const override { return m_size; }
    [[nodiscard]] const std::vector<PairKeys>& keys() const { return m_keys; }

    std::unique_ptr<Transfer> send(const void* from, std::size_t bytes, int to,
                                   std::uint32_t tag) override {
        return begin(
            [&](std::vector<at::Tensor>& row) {
                return m_connections->send(row, to, static_cast<int>(tag));
            },
            const_cast<void*>(from), bytes, to);
    }

    std::unique_ptr<Transfer> receive(void* to, std::size_t bytes, int from,
                                      std::uint32_t tag) override {
        return begin(
            [&](std::vector<at::Tensor>& row) {
                return m_connections->recv(row, from, static_cast<int>(tag));
            },
            to, bytes, from);
    }

    std::string blame(const std::string& why, int late) override {
        return firstWords(m_table, why, m_rank, late);
    }
    WaitWatch::Waiting waitsFor(int rank) override { return m_watch->waitsFor(rank); }

    void close() override {
        const std::lock_guard lock(m_mutex);
        m_closed = true;
        m_connections->close();
    }

private:
    /// Of ranks that have proved nothing. What is on its way holds its own memory.
    std::vector<std::string> swap(const std::vector<std::string>& texts) {
        std::vector<c10::intrusive_ptr<c10d::Work>> sent(texts.size()), received(texts.size());
        std::vector<std::vector<at::Tensor>> heard(texts.size());
        for (int i = 0; i < m_size; ++i) {
            if (i == m_rank) continue;
            const auto at = static_cast<std::size_t>(i);
            std::vector<at::Tensor> said{tensorOf(texts[at])};
            heard[at] = {at::zeros_like(said[0])};
            received[at] = m_connections->recv(heard[at], i, kProofTag);
            sent[at] = m_connections->send(said, i, kProofTag);
        }
        std::vector<std::string> all(texts.size());
        for (int i = 0; i < m_size; ++i) {
            if (i == m_rank) continue;
            const auto at = static_cast<std::size_t>(i);
            await(*received[at], i);
            await(*sent[at], i);
            all[at].assign(static_cast<const char*>(heard[at][0].const_data_ptr()),
                           texts[at].size());
        }
        return all;
    }

    void await(c10d::Work& work, int peer) const {
        try {
            work.wait(m_timeout);
        } catch (const std::exception& error) {
            const std::string_view text = error.what();
            if (isTimeout(text))
                throw PeerError(
                    fmt::format("what is connected to rank {} as rank {} has not "
                                "proved for {:g} s that it knows the run's key",
                                m_rank, peer, std::chrono::duration<double>(m_timeout).count()),
                    peer);
            throw PeerGone(fmt::format("rank {}, or what was connected to rank {} in its place, "
                                       "has gone before it had proved the run's key",
                                       peer, m_rank),
                           peer);
        }
    }

    template <class Begin>
    std::unique_ptr<Transfer> begin(const Begin& call, void* memory, std::size_t bytes, int peer) {
        const at::DisableRecordFunctionGuard bookkeeping;
        std::vector<at::Tensor> row{
            at::from_blob(memory, {static_cast<std::int64_t>(bytes)}, at::kByte)};
        const std::lock_guard lock(m_mutex);  // the process group counts its calls
        if (m_closed) throw TransferError(TransferError::Kind::kLost, "given up");
        try {
            const std::shared_ptr<ConnectionEnd> end = endOfConnection(peer);
            return std::make_unique<GlooTransfer>(call(row), m_watch, end, peer);
        } catch (const std::exception& error) {
            const std::string_view text = error.what();
            throw TransferError(TransferError::Kind::kLost,
                                std::string(text.substr(0, text.find('\n'))));
        }
    }

    /// Of the peers that messages go to, for each of them costs a thread. Under m_mutex.
    const std::shared_ptr<ConnectionEnd>& endOfConnection(int peer) {
        std::shared_ptr<ConnectionEnd>& end = m_ends[static_cast<std::size_t>(peer)];
        if (!end) {
            end = std::make_shared<ConnectionEnd>([&](std::vector<at::Tensor>& row) {
                return m_connections->recv(row, peer, ConnectionEnd::kTag);
            });
        }
        return end;
    }

    const int m_rank, m_size;
    const std::chrono::milliseconds m_timeout;
    const RankTable m_table;
    const std::shared_ptr<WaitWatch> m_watch;
    std::vector<PairKeys> m_keys;  ///< by rank
    std::mutex m_mutex;
    bool m_closed = false;  // guarded by m_mutex
    c10::intrusive_ptr<Connections> m_connections;
    std::vector<std::shared_ptr<ConnectionEnd>> m_ends;  // by rank; guarded by m_mutex
};

/// Gloo writes to sockets whose other end may be gone; the error it gets is enough.
void ignorePipeSignal() {
    struct sigaction present {};
    ::sigaction(SIGPIPE, nullptr, &present);
    if (present.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

bool hasGloo() {
    return true;
}

std::shared_ptr<Mesh> makeGlooMesh(const GlooSetup& setup) {
    const at::DisableRecordFunctionGuard bookkeeping;
    ignorePipeSignal();
    c10::initLogging();  // at the level that the environment asks for
    const auto address = network::addressOf(setup.interface);
    if (!address) throw CommunicationError(address.error().message);
    const WorldMeeting meeting = setup.world ? *setup.world : agreeOnMeeting(*setup.host, *address);
    try {
        const auto mesh = std::make_shared<GlooMesh>(meetAt(meeting, setup.timeout), meeting,
                                                     *address, setup.timeout);
        return setup.encrypt ? encrypted(mesh, mesh->keys()) : mesh;
    } catch (const CommunicationError&) {
        throw;
    } catch (const std::exception& error) {
        const std::string_view text = error.what();
        const std::string why = fmt::format(
            "rank {} cannot reach the others through Gloo on {}, to meet rank 0 on {} "
            "port {}: {}",
            meeting.rank, *address, meeting.address, meeting.port, text.substr(0, text.find('\n')));
        // It waited for a rank that is not known here.
        if (text.find("timeout") != text.npos) throw PeerError(why, WaitWatch::kNoRank);
        throw CommunicationError(why);
    }
}

}  // namespace shardscope::comm
