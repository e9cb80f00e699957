#include "engine/comm/rails.h"

#include "engine/comm/copy.h"
#include "engine/comm/reduce.h"
#include "storage/model/host_clock.h"

#include <algorithm>
#include <utility>

namespace shardscope::comm {
Rails::Rails(HostLevels& levels, control::Observer* memory)
    : m_levels(levels),
      m_rail(levels.rail()),
      m_memory(memory),
      m_piece(static_cast<std::size_t>(theory::railPieceBytes(levels.hosts()))),
      m_sums(memory, "sums between hosts") {}

Rails::~Rails() {
    if (m_stages) tellStaging(MemoryAction::kFree);
}

/// Pages that were never written to take no memory.
void Rails::tellStaging(MemoryAction action) {
    const std::size_t bytes = stagingBytes(m_levels.hosts(), m_levels.perHost());
    if (m_memory == nullptr || bytes == 0) return;
    m_memory->buffer({m_levels.staging(m_levels.place()), static_cast<std::int64_t>(bytes), action,
                      MemoryCategory::kCommunication, kNoLayer, "rows of other hosts", hostNow()});
}

std::size_t Rails::stagingBytes(int hosts, int perHost) {
    return static_cast<std::size_t>(theory::railStagingBytes(hosts, perHost));
}

Rails::Piece Rails::Cut::piece(std::size_t part, std::size_t number) const {
    const std::size_t begin = std::min(number * most, parts.size(part));
    return {begin, std::min(most, parts.size(part) - begin)};
}

int Rails::along(int steps) const {
    return (m_levels.host() + steps + 2 * m_levels.hosts()) % m_levels.hosts();
}

std::size_t Rails::part(int host, int place) const {
    return at(m_levels.rankAt(host, place));
}

void Rails::gather(std::byte* out, std::size_t bytes) {
    if (!std::exchange(m_stages, true)) tellStaging(MemoryAction::kAllocate);
    Row row{{evenParts(bytes * at(m_levels.size()), at(m_levels.size())), m_piece}, out, {}, {}};
    row.near = [this](int place) { return m_levels.input(place); };
    row.landing = [=, this](int place, int host, std::size_t number) {
        if (m_levels.perHost() == 1) return out + at(host) * bytes + number * m_piece;
        const int hosts = m_levels.hosts();
        const std::size_t from = at((host - m_levels.host() + hosts) % hosts) - 1;
        const std::size_t slot = number % kInFlight * (at(hosts) - 1) + from;
        return m_levels.staging(place) + slot * m_piece;
    };
    gather(row);
}

void Rails::gatherInPlace(std::byte* whole, const Parts& bytes) {
    Row row{{bytes, m_piece}, whole, {}, {}};
    row.near = [this, &bytes](int place) {
        return m_levels.input(place) + bytes.begin(part(m_levels.host(), place));
    };
    row.landing = [this, &bytes](int place, int host, std::size_t number) {
        return m_levels.input(place) + bytes.begin(part(host, place)) + number * m_piece;
    };
    gather(row);
    m_levels.meetAgain();  // who reads this rank's row has done so
}

/// A slot is used again once all ranks of the host have met after reading it.
void Rails::gather(const Row& row) {
    const std::size_t pieces = m_levels.hosts() == 1 ? 0 : row.cut.pieces();
    for (std::size_t k = 0; k < std::min(pieces, kInFlight - 1); ++k) begin(row, k);
    copyNear(row);
    for (std::size_t k = 0; k < pieces; ++k) {
        carry(row, k);
        m_levels.meetAgain();
        if (k + kInFlight - 1 < pieces) begin(row, k + kInFlight - 1);
        spread(row, k);
    }
    for (std::vector<Pending>& sent : m_going) finish(sent);
}

void Rails::begin(const Row& row, std::size_t number) {
    std::vector<Pending>& sent = m_going[number % kInFlight];
    finish(sent);
    m_coming[number % kInFlight] = receive(row, along(-1), number);
    sent.push_back(send(row, m_levels.host(), number));
}

/// A piece comes from each of the other hosts, from the neighbour's first, and goes on.
void Rails::carry(const Row& row, std::size_t number) {
    Pending& next = m_coming[number % kInFlight];
    for (int step = 1; step < m_levels.hosts(); ++step) {
        const bool last = step + 1 == m_levels.hosts();
        Pending coming = std::exchange(next, {});
        if (!last) next = receive(row, along(-step - 1), number);
        await(coming);
        if (!last) m_going[number % kInFlight].push_back(send(row, along(-step), number));
    }
}

Rails::Pending Rails::receive(const Row& row, int host, std::size_t number) {
    std::byte* to = row.landing(m_levels.place(), host, number);
    return m_rail.receiveFrom(m_rail.left(), to, row.cut.piece(part(host), number).size);
}

Rails::Pending Rails::send(const Row& row, int host, std::size_t number) {
    const Piece piece = row.cut.piece(part(host), number);
    const std::byte* from = host == m_levels.host() ? row.near(m_levels.place()) + piece.begin
                                                    : row.landing(m_levels.place(), host, number);
    return m_rail.sendTo(m_rail.right(), from, piece.size);
}

void Rails::copyNear(const Row& row) const {
    for (int place = 0; place < m_levels.perHost(); ++place) {
        const std::size_t rank = part(m_levels.host(), place);
        std::byte* to = row.to + row.cut.parts.begin(rank);
        if (row.near(place) != to) copyRow(to, row.near(place), row.cut.parts.size(rank));
    }
}

void Rails::spread(const Row& row, std::size_t number) const {
    for (int host = 0; host < m_levels.hosts(); ++host) {
        if (host == m_levels.host()) continue;
        for (int place = 0; place < m_levels.perHost(); ++place) {
            const Piece piece = row.cut.piece(part(host, place), number);
            std::byte* to = row.to + row.cut.parts.begin(part(host, place)) + piece.begin;
            const std::byte* from = row.landing(place, host, number);
            if (from != to) copyRow(to, from, piece.size);
        }
    }
}

void Rails::reduce(DataType dtype, const Parts& elements, float* out, bool add) {
    reduce({{elements, m_piece / sizeof(float)}, dtype, out, false, add});
}

void Rails::reduceRounded(DataType dtype, const Parts& elements, void* out) {
    reduce({{elements, m_piece / sizeof(float)}, dtype, out, true, false});
}

void Rails::reduce(const Sum& sum) {
    const std::size_t pieces = sum.cut.pieces();
    if (m_levels.hosts() > 1) {
        const auto part = static_cast<std::int64_t>(sum.cut.parts.largest());
        m_sumBytes = static_cast<std::size_t>(theory::railSumElements(m_levels.hosts(), part)) *
                     sizeof(float);
        m_sumsBegin =
            m_sums.reserve(static_cast<std::size_t>(theory::railSumBytes(m_levels.hosts(), part)));
    }
    for (std::size_t k = 0; k < std::min(pieces, kInFlight - 1); ++k) begin(sum, k);
    for (std::size_t k = 0; k < pieces; ++k) {
        if (k + kInFlight - 1 < pieces) begin(sum, k + kInFlight - 1);
        end(sum, k);
    }
    for (std::vector<Pending>& sent : m_going) finish(sent);
}

/// What the host after this one keeps begins here: the sum of this host's rows goes to it last.
void Rails::begin(const Sum& sum, std::size_t number) {
    if (m_levels.hosts() == 1) return;
    std::vector<Pending>& sent = m_going[number % kInFlight];
    finish(sent);
    m_coming[number % kInFlight] = receive(sum, 1, number);
    const Piece piece = sum.cut.piece(part(along(-1)), number);
    const auto mine = rows(sum, along(-1), piece);
    const void* from = mine.front();
    if (mine.size() > 1 || sum.dtype != DataType::kFloat32) {
        sumSources(mine, sum.dtype, buffer(number, 0), piece.size, false);
        from = buffer(number, 0);
    }
    sent.push_back(m_rail.sendTo(m_rail.right(), from, piece.size * sizeof(float)));
}

void Rails::end(const Sum& sum, std::size_t number) {
    const int hosts = m_levels.hosts();
    if (hosts == 1) return keep(sum, sum.cut.piece(part(0), number), nullptr);
    std::vector<Pending>& sent = m_going[number % kInFlight];
    Pending& next = m_coming[number % kInFlight];
    for (int step = 1; step < hosts; ++step) {
        Pending coming = std::exchange(next, {});
        if (step > 1 && step + 1 < hosts) m_rail.finishSent(sent[at(step) - 2]);
        if (step + 1 < hosts) next = receive(sum, step + 1, number);
        await(coming);
        const int host = along(-step - 1);
        const Piece piece = sum.cut.piece(part(host), number);
        if (step + 1 == hosts) return keep(sum, piece, buffer(number, step));
        sumSources(rows(sum, host, piece), sum.dtype, buffer(number, step), piece.size, true);
        sent.push_back(
            m_rail.sendTo(m_rail.right(), buffer(number, step), piece.size * sizeof(float)));
    }
}

void Rails::keep(const Sum& sum, Piece piece, float* others) {
    const auto mine = rows(sum, m_levels.host(), piece);
    const std::size_t each = sum.rounded ? elementBytes(sum.dtype) : sizeof(float);
    std::byte* to = static_cast<std::byte*>(sum.out) + piece.begin * each;
    auto* floats = reinterpret_cast<float*>(to);
    if (others == nullptr) {
        if (sum.rounded) return sumSourcesRounded(mine, sum.dtype, to, piece.size);
        return sumSources(mine, sum.dtype, floats, piece.size, sum.add);
    }
    sumSources(mine, sum.dtype, others, piece.size, true);
    if (sum.rounded) return roundRow(others, sum.dtype, to, piece.size);
    const void* total[] = {others};
    sumSources(total, DataType::kFloat32, floats, piece.size, sum.add);
}

float* Rails::buffer(std::size_t number, int step) const {
    const std::size_t index = number % kInFlight * at(sumBuffers()) + at(step % sumBuffers());
    return reinterpret_cast<float*>(m_sumsBegin + index * m_sumBytes);
}

Rails::Pending Rails::receive(const Sum& sum, int step, std::size_t number) {
    const Piece piece = sum.cut.piece(part(along(-step - 1)), number);
    return m_rail.receiveFrom(m_rail.left(), buffer(number, step), piece.size * sizeof(float));
}

std::span<const void* const> Rails::rows(const Sum& sum, int host, Piece piece) {
    const std::size_t begin = sum.cut.parts.begin(part(host)) + piece.begin;
    m_sources.clear();
    for (int place = 0; place < m_levels.perHost(); ++place)
        m_sources.push_back(m_levels.input(place) + begin * elementBytes(sum.dtype));
    return m_sources;
}

/// Each rail carries a part of the row for each place.
void Rails::broadcast(std::byte* row, std::size_t bytes, int root) {
    const int host = root / m_levels.perHost();
    const Cut cut{evenParts(bytes, at(m_levels.perHost())), m_piece};
    if (host == m_levels.host()) {
        const std::byte* from = m_levels.input(root % m_levels.perHost());
        if (m_levels.hosts() > 1) sendRoot(from, cut);
        if (row != from) copyRow(row, from, bytes);
    } else {
        passOn(row, cut, along(1) == host);
        m_levels.meetAgain();  // who reads this rank's row has done so
    }
    finish(m_going[0]);
}

void Rails::sendRoot(const std::byte* row, const Cut& cut) {
    const std::size_t own = at(m_levels.place());
    for (std::size_t k = 0; k < cut.pieces(); ++k) {
        const Piece piece = cut.piece(own, k);
        const std::byte* from = row + cut.parts.begin(own) + piece.begin;
        m_going[0].push_back(m_rail.sendTo(m_rail.right(), from, piece.size));
    }
}

void Rails::passOn(std::byte* row, const Cut& cut, bool last) {
    const std::size_t own = at(m_levels.place());
    const auto place = [&](std::size_t p, std::size_t k) {
        return cut.parts.begin(p) + cut.piece(p, k).begin;
    };
    std::vector<Pending> coming;
    for (std::size_t k = 0; k < cut.pieces(); ++k)
        coming.push_back(
            m_rail.receiveFrom(m_rail.left(), row + place(own, k), cut.piece(own, k).size));
    for (std::size_t k = 0; k < cut.pieces(); ++k) {
        await(coming[k]);
        const std::size_t size = cut.piece(own, k).size;
        if (!last) m_going[0].push_back(m_rail.sendTo(m_rail.right(), row + place(own, k), size));
        m_levels.meetAgain();
        for (int p = 0; p < m_levels.perHost(); ++p) {
            if (p == m_levels.place()) continue;
            copyRow(row + place(at(p), k), m_levels.input(p) + place(at(p), k),
                    cut.piece(at(p), k).size);
        }
    }
}

void Rails::exchange(const std::byte* from, std::byte* out, std::size_t bytes) {
    const int size = m_levels.size();
    std::vector<Pending> coming;
    for (int step = 1; step < size; ++step) {
        const int to = (m_levels.rank() + step) % size;
        const int other = (m_levels.rank() + size - step) % size;
        if (!m_levels.isNear(other))
            coming.push_back(m_levels.all().receiveFrom(other, out + at(other) * bytes, bytes));
        if (!m_levels.isNear(to))
            m_going[0].push_back(m_levels.all().sendTo(to, from + at(to) * bytes, bytes));
    }
    for (int place = 0; place < m_levels.perHost(); ++place)
        copyRow(out + part(m_levels.host(), place) * bytes,
                m_levels.input(place) + at(m_levels.rank()) * bytes, bytes);
    const BetweenHosts between(m_levels.clock());
    for (Pending& each : coming) m_levels.all().finishReceived(each);
    for (Pending& each : m_going[0]) m_levels.all().finishSent(each);
    m_going[0].clear();
}

void Rails::await(Pending& received) {
    const BetweenHosts between(m_levels.clock());
    m_rail.finishReceived(received);
}

void Rails::finish(std::vector<Pending>& sent) {
    if (sent.empty()) return;
    const BetweenHosts between(m_levels.clock());
    for (Pending& each : sent) m_rail.finishSent(each);
    sent.clear();
}

}  // namespace shardscope::comm
