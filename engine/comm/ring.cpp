#include "engine/comm/ring.h"

#include "engine/comm/arguments.h"
#include "engine/comm/peer_process.h"
#include "engine/comm/reduce.h"
#include "storage/model/host_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardscope::comm {
namespace {

/// What is summed or passed on while the next piece is on its way.
constexpr std::size_t kPieceBytes = std::size_t{1} << 19;
constexpr std::size_t kPieceFloats = kPieceBytes / sizeof(float);

constexpr const char* kSums = "ring's sums";

constexpr const char* kSent = "sent its part of";
constexpr const char* kTaken = "taken its part of";

template <class Each>
void forEachPiece(std::size_t count, std::size_t piece, Each each) {
    for (std::size_t begin = 0; begin < count; begin += piece) {
        each(begin, std::min(piece, count - begin));
    }
}

/// Each ring has one tag for what ranks ask for and one for data.
std::uint32_t helloTag(std::uint32_t ring) {
    return 2 * ring;
}
std::uint32_t dataTag(std::uint32_t ring) {
    return 2 * ring + 1;
}

}  // namespace

Ring::Ring(std::shared_ptr<Mesh> mesh, RingPlace place, std::chrono::milliseconds timeout,
           control::Observer* observer)
    : m_mesh(std::move(mesh)),
      m_place(std::move(place)),
      m_timeout(timeout),
      m_all(m_place.meshRanks.size()),
      m_heard(m_place.meshRanks.size()),
      m_arrivals(m_place.meshRanks.size()),
      m_sums{StagingBuffer(observer, kSums), StagingBuffer(observer, kSums)} {
    std::iota(m_all.begin(), m_all.end(), 0);
}

std::int64_t Ring::meet(const Call& call, std::span<const double> values, const Other& beside) {
    m_call = call;
    m_said = {call.wanted, hostNow(), m_place.tags->load(), beside, {}};
    std::copy(values.begin(), values.end(), m_said.values.begin());
    hear(m_all);
    for (const int p : m_all) {
        const Hello& heard = m_heard[at(p)];
        if (!call.wanted.matches(heard.wanted)) {
            throw CommunicationError(mismatch(call, meshRank(own()), heard.wanted, meshRank(p)));
        }
        if (heard.beside.meshRank < 0) continue;
        throw CommunicationError(
            mismatch(call, meshRank(own()), heard.beside.wanted, heard.beside.meshRank));
    }
    return m_said.arrivalNs;
}

std::int64_t Ring::meetOne(const Call& call, int peer) {
    m_call = call;
    m_said = {call.wanted, hostNow(), 0, {}, {}};
    hear(std::array{peer});
    if (!fits(call, m_heard[at(peer)].wanted)) {
        throw CommunicationError(
            mismatch(call, meshRank(own()), m_heard[at(peer)].wanted, meshRank(peer)));
    }
    return m_said.arrivalNs;
}

void Ring::follow(const Call& call) {
    m_call = call;
}

/// One sends what the other receives.
bool Ring::fits(const Call& call, const OperationDescriptor& theirs) const {
    const auto wanted =
        call.wanted.operation == CollectiveOp::kSend ? CollectiveOp::kReceive : CollectiveOp::kSend;
    return theirs.operation == wanted && theirs.detail == meshRank(own()) &&
           theirs.bytes == call.wanted.bytes && theirs.dtype == call.wanted.dtype;
}

std::uint32_t Ring::agreeOnTag(std::span<const int> members, std::uint32_t group) {
    m_call = {};
    m_call.wanted.operation = kSplitOperation;
    m_call.wanted.detail = fingerprint(members);
    m_call.wanted.bytes = group;
    m_call.group = m_place.group;
    m_said = {m_call.wanted, hostNow(), m_place.tags->load(), {}, {}};
    hear(m_all);
    std::uint32_t tag = 0;
    for (const int p : members) {
        const Hello& heard = m_heard[at(p)];
        if (!m_call.wanted.matches(heard.wanted)) {
            throw CommunicationError(mismatch(m_call, meshRank(own()), heard.wanted, meshRank(p)));
        }
        tag = std::max(tag, heard.nextTag);
    }
    m_place.tags->store(tag + 1);
    return tag;
}

void Ring::hear(std::span<const int> peers) {
    std::vector<Pending> sent, heard;
    for (const int p : peers) {
        if (p == own()) continue;
        heard.push_back(receiveFrom(p, &m_heard[at(p)], sizeof(Hello), helloTag(m_place.tag)));
        sent.push_back(sendTo(p, &m_said, sizeof(Hello), helloTag(m_place.tag)));
    }
    m_heard[at(own())] = m_said;
    finish(heard, "joined");
    finish(sent, "joined");
    for (const int p : peers) m_arrivals[at(p)] = m_heard[at(p)].arrivalNs;
}

void Ring::gather(std::byte* whole, const Parts& parts) {
    for (int step = 0; step + 1 < size(); ++step) {
        const std::size_t out = around(-step), in = around(-step - 1);
        Pending received = receiveFrom(left(), whole + parts.begin(in), parts.size(in));
        Pending sent = sendTo(right(), whole + parts.begin(out), parts.size(out));
        finish(received, kSent);
        finish(sent, kTaken);
    }
}

/// The part that ends here starts at the right-hand neighbour, and each rank adds its row before
/// it sends the part on, piece by piece: the next is summed while one is on its way.
const float* Ring::reduce(const float* full, const Parts& parts) {
    if (size() == 1) return nullptr;
    const auto sums = [&](StagingBuffer& buffer) {
        return reinterpret_cast<float*>(buffer.reserve(parts.largest() * sizeof(float)));
    };
    float* incoming = sums(m_sums[0]);
    float* outgoing = size() > 2 ? sums(m_sums[1]) : nullptr;  // two pass nothing on
    for (int step = 0; step + 1 < size(); ++step) {
        const std::size_t out = around(-step - 1), in = around(-step - 2);
        std::vector<Pending> received, sent;
        if (step > 0) std::swap(incoming, outgoing);  // what came goes out
        forEachPiece(parts.size(in), kPieceFloats, [&](std::size_t begin, std::size_t n) {
            received.push_back(receiveFrom(left(), incoming + begin, n * sizeof(float)));
        });
        forEachPiece(parts.size(out), kPieceFloats, [&](std::size_t begin, std::size_t n) {
            const float* from = full + parts.begin(out) + begin;
            if (step > 0) {
                float* sum = outgoing + begin;
                const void* rows[] = {sum, from};
                sumSources(rows, DataType::kFloat32, sum, n, false);
                from = sum;
            }
            sent.push_back(sendTo(right(), from, n * sizeof(float)));
        });
        finish(received, kSent);
        finish(sent, kTaken);
    }
    return incoming;
}

void Ring::exchange(const std::byte* from, const Parts& parts, std::byte* to, std::size_t bytes) {
    std::vector<Pending> sent, received;
    for (int step = 1; step < size(); ++step) {
        const std::size_t p = around(step), q = around(-step);
        received.push_back(receiveFrom(static_cast<int>(q), to + q * bytes, bytes));
        sent.push_back(sendTo(static_cast<int>(p), from + parts.begin(p), parts.size(p)));
    }
    finish(received, kSent);
    finish(sent, kTaken);
}

void Ring::passOn(std::byte* data, std::size_t bytes, int root) {
    std::vector<Pending> received, sent;
    if (own() != root) {
        forEachPiece(bytes, kPieceBytes, [&](std::size_t begin, std::size_t n) {
            received.push_back(receiveFrom(left(), data + begin, n));
        });
    }
    std::size_t piece = 0;
    forEachPiece(bytes, kPieceBytes, [&](std::size_t begin, std::size_t n) {
        if (own() != root) finish(received[piece++], kSent);
        if (right() != root) sent.push_back(sendTo(right(), data + begin, n));
    });
    finish(sent, kTaken);
}

void Ring::send(const void* from, std::size_t bytes, int to) {
    Pending sent = sendTo(to, from, bytes);
    finish(sent, kTaken);
}

void Ring::receive(void* to, std::size_t bytes, int from) {
    Pending received = receiveFrom(from, to, bytes);
    finish(received, kSent);
}

Ring::Pending Ring::sendTo(int rank, const void* from, std::size_t bytes) {
    return sendTo(rank, from, bytes, dataTag(m_place.tag));
}

Ring::Pending Ring::sendTo(int rank, const void* from, std::size_t bytes, std::uint32_t tag) {
    if (bytes == 0) return {nullptr, rank};
    try {
        return {m_mesh->send(from, bytes, meshRank(rank), tag), rank};
    } catch (const TransferError& error) {
        fail(error, rank, kTaken);
    }
}

Ring::Pending Ring::receiveFrom(int rank, void* to, std::size_t bytes) {
    return receiveFrom(rank, to, bytes, dataTag(m_place.tag));
}

Ring::Pending Ring::receiveFrom(int rank, void* to, std::size_t bytes, std::uint32_t tag) {
    if (bytes == 0) return {nullptr, rank};
    try {
        return {m_mesh->receive(to, bytes, meshRank(rank), tag), rank};
    } catch (const TransferError& error) {
        fail(error, rank, kSent);
    }
}

void Ring::finishReceived(Pending& pending) {
    finish(pending, kSent);
}

void Ring::finishSent(Pending& pending) {
    finish(pending, kTaken);
}

void Ring::finish(std::vector<Pending>& all, const char* what) {
    for (Pending& each : all) finish(each, what);
}

void Ring::finish(Pending& pending, const char* what) {
    if (!pending.transfer) return;
    const std::unique_ptr<Transfer> transfer = std::move(pending.transfer);
    try {
        transfer->wait(m_timeout);
    } catch (const TransferError& error) {
        fail(error, pending.rank, what);
    }
}

void Ring::fail(const TransferError& error, int peer, const char* what) const {
    if (error.kind() == TransferError::Kind::kTimeout) {
        throw PeerLate(
            fmt::format("rank {} has not {} {} for {:g} s", meshRank(peer), what, describe(m_call),
                        std::chrono::duration<double>(m_timeout).count()),
            meshRank(peer));
    }
    if (error.kind() == TransferError::Kind::kAltered) {
        throw CommunicationError(
            fmt::format("rank {} gives up {}: {}; it was changed, or put in, "
                        "on its way",
                        meshRank(own()), describe(m_call), error.what()));
    }
    throw PeerGone(
        fmt::format("rank {} is out of reach of rank {} in {}: it has ended, given up, or the "
                    "network between them is down ({})",
                    meshRank(peer), meshRank(own()), describe(m_call), error.what()),
        meshRank(peer));
}

}  // namespace shardscope::comm
