#include "storage/columns/column.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardscope::columns {
namespace {

enum Transform : std::uint8_t { kPlain = 0, kDelta = 1, kDictionary = 2 };

/// Differences are taken modulo 2^64, so that no pair of values overflows.
std::int64_t difference(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

struct Extent {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();

    void add(std::int64_t value) {
        least = std::min(least, value);
        most = std::max(most, value);
    }
    [[nodiscard]] std::uint8_t width() const {
        if (most <= least) return 0;
        const auto range = static_cast<std::uint64_t>(difference(most, least));
        return static_cast<std::uint8_t>((std::bit_width(range) + 7) / 8);
    }
};

/// Residual i goes to byte i of each plane.
template <int Width, class ResidualAt>
void writePlanes(std::byte* out, std::size_t count, ResidualAt residualAt) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t residual = residualAt(i);
        for (int plane = 0; plane < Width; ++plane)
            out[static_cast<std::size_t>(plane) * count + i] =
                static_cast<std::byte>(residual >> (8 * plane));
    }
}

template <class ResidualAt>
void appendPlanes(std::vector<std::byte>& out, std::uint8_t width, std::size_t count,
                  ResidualAt residualAt) {
    const std::size_t at = out.size();
    out.resize(at + width * count);
    std::byte* to = out.data() + at;
    switch (width) {
        case 1:
            return writePlanes<1>(to, count, residualAt);
        case 2:
            return writePlanes<2>(to, count, residualAt);
        case 3:
            return writePlanes<3>(to, count, residualAt);
        case 4:
            return writePlanes<4>(to, count, residualAt);
        case 5:
            return writePlanes<5>(to, count, residualAt);
        case 6:
            return writePlanes<6>(to, count, residualAt);
        case 7:
            return writePlanes<7>(to, count, residualAt);
        case 8:
            return writePlanes<8>(to, count, residualAt);
        default:
            return;
    }
}

template <int Width>
void readPlanes(const std::byte* from, std::size_t stride, std::span<std::int64_t> out) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(from);
    for (std::size_t i = 0; i < out.size(); ++i) {
        std::uint64_t residual = 0;
        for (int plane = 0; plane < Width; ++plane)
            residual |=
                static_cast<std::uint64_t>(bytes[static_cast<std::size_t>(plane) * stride + i])
                << (8 * plane);
        out[i] = static_cast<std::int64_t>(residual);
    }
}

/// Open-addressing set of distinct values that gives up when there are too many of them.
class DistinctValues {
public:
    explicit DistinctValues(std::size_t limit)
        : m_limit(limit), m_slots(std::bit_ceil(std::max<std::size_t>(16, limit * 2)), kFree) {}

    bool add(std::int64_t value) {
        std::uint32_t& slot = find(value);
        if (slot != kFree) return true;
        if (m_values.size() == m_limit) return false;
        slot = static_cast<std::uint32_t>(m_values.size());
        m_values.push_back(value);
        return true;
    }

    /// Sorts the values; from then on indexOf() answers.
    const std::vector<std::int64_t>& sort() {
        std::sort(m_values.begin(), m_values.end());
        std::fill(m_slots.begin(), m_slots.end(), kFree);
        for (std::uint32_t i = 0; i < m_values.size(); ++i) {
            std::size_t at = home(m_values[i]);
            while (m_slots[at] != kFree) at = (at + 1) & (m_slots.size() - 1);
            m_slots[at] = i;
        }
        return m_values;
    }
    [[nodiscard]] std::uint32_t indexOf(std::int64_t value) { return find(value); }

private:
    static constexpr std::uint32_t kFree = 0xFFFFFFFFu;

    [[nodiscard]] std::size_t home(std::int64_t value) const {
        const auto mixed = static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15u;
        return static_cast<std::size_t>(mixed >> 32) & (m_slots.size() - 1);
    }
    std::uint32_t& find(std::int64_t value) {
        std::size_t at = home(value);
        while (m_slots[at] != kFree && m_values[m_slots[at]] != value)
            at = (at + 1) & (m_slots.size() - 1);
        return m_slots[at];
    }

    std::size_t m_limit;
    std::vector<std::uint32_t> m_slots;
    std::vector<std::int64_t> m_values;
};

struct Extents {
    Extent plain, delta;
    bool preferDelta = false;
};
/// Prefers what leaves fewer bits in all: a few wide steps cost little, as their high planes are
/// nearly all zeros.
Extents extentsOf(std::span<const std::int64_t> values) {
    Extents extents;
    std::int64_t previous = values.empty() ? 0 : values.front();
    for (const std::int64_t value : values) {
        extents.plain.add(value);
        extents.delta.add(difference(value, previous));
        previous = value;
    }
    if (extents.plain.width() == 0 || extents.delta.width() == 0) {
        extents.preferDelta = extents.delta.width() < extents.plain.width();
        return extents;
    }
    std::int64_t saved = 0;
    previous = values.front();
    const auto bits = [](std::int64_t value, std::int64_t least) {
        return std::bit_width(static_cast<std::uint64_t>(difference(value, least)));
    };
    for (const std::int64_t value : values) {
        saved += bits(value, extents.plain.least);
        saved -= bits(difference(value, previous), extents.delta.least);
        previous = value;
    }
    extents.preferDelta = saved > 0;
    return extents;
}

void encodeFlat(std::span<const std::int64_t> values, const Extents& extents,
                std::vector<std::byte>& out) {
    const auto& [plain, delta, preferDelta] = extents;
    if (preferDelta) {
        putNumber(out, std::uint8_t{kDelta});
        putNumber(out, delta.width());
        putNumber(out, delta.least);
        putNumber(out, values.front());
        appendPlanes(out, delta.width(), values.size(), [&](std::size_t i) {
            const std::int64_t step = i == 0 ? 0 : difference(values[i], values[i - 1]);
            return static_cast<std::uint64_t>(difference(step, delta.least));
        });
        return;
    }
    putNumber(out, std::uint8_t{kPlain});
    putNumber(out, plain.width());
    putNumber(out, values.empty() ? std::int64_t{0} : plain.least);
    appendPlanes(out, plain.width(), values.size(), [&](std::size_t i) {
        return static_cast<std::uint64_t>(difference(values[i], plain.least));
    });
}

enum Form : std::uint8_t { kWholeNumbers = 0, kBits = 1 };

/// Whether nothing is lost as an integer (bytes, nanoseconds, counts); -0.0 would be.
bool isWhole(double value) {
    if (!(std::abs(value) < 9.0e15)) return false;
    const auto integer = static_cast<std::int64_t>(value);
    return std::bit_cast<std::uint64_t>(static_cast<double>(integer)) ==
           std::bit_cast<std::uint64_t>(value);
}

}  // namespace

void encodeColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out) {
    encodeFlat(values, extentsOf(values), out);
}

void encodeSmallestColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out) {
    const Extents extents = extentsOf(values);
    if (std::min(extents.plain.width(), extents.delta.width()) <= 1)
        return encodeFlat(values, extents, out);
    encodeRepeatingColumn(values, out);
}

void encodeRepeatingColumn(std::span<const std::int64_t> values, std::vector<std::byte>& out) {
    DistinctValues distinct(values.size() / 4);
    for (const std::int64_t value : values)
        if (!distinct.add(value)) return encodeColumn(values, out);
    const std::vector<std::int64_t>& sorted = distinct.sort();
    std::vector<std::int64_t> indexes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) indexes[i] = distinct.indexOf(values[i]);
    putNumber(out, std::uint8_t{kDictionary});
    putNumber(out, static_cast<std::uint32_t>(sorted.size()));
    encodeColumn(sorted, out);
    encodeColumn(indexes, out);
}

bool ColumnReader::open(ByteReader& in, std::size_t count) {
    ByteReader ahead = in;
    if (ahead.number<std::uint8_t>() != kDictionary) return openFlat(in, count);
    in.number<std::uint8_t>();
    return openDictionary(in, count);
}

bool ColumnReader::openFlat(ByteReader& in, std::size_t count) {
    *this = ColumnReader{};
    m_count = count;
    m_transform = in.number<std::uint8_t>();
    m_width = in.number<std::uint8_t>();
    m_base = in.number<std::int64_t>();
    if (m_transform == kDelta) m_previous = in.number<std::uint64_t>();
    if (m_transform > kDelta || m_width > 8) return false;
    m_planes = in.take(m_width * count);
    m_constant = m_transform == kPlain && m_width == 0;
    return in.good();
}

/// Dictionary and indexes are flat columns: hostile bytes cannot nest dictionaries.
bool ColumnReader::openDictionary(ByteReader& in, std::size_t count) {
    const auto size = in.number<std::uint32_t>();
    ColumnReader entries;
    if (!in.good() || size > count || !entries.openFlat(in, size)) return false;
    std::vector<std::int64_t> dictionary(size);
    entries.read(dictionary);
    ByteReader ahead = in;
    if (!openFlat(ahead, count)) return false;
    std::vector<std::int64_t> indexes(count);
    read(indexes);
    const bool inside = std::all_of(indexes.begin(), indexes.end(), [&](std::int64_t index) {
        return index >= 0 && index < static_cast<std::int64_t>(size);
    });
    if (!inside || !openFlat(in, count)) return false;
    m_dictionary = std::move(dictionary);
    m_constant = false;
    return true;
}

void ColumnReader::readResiduals(std::span<std::int64_t> out) {
    const std::byte* from = m_planes.data() + m_position;
    switch (m_width) {
        case 1:
            return readPlanes<1>(from, m_count, out);
        case 2:
            return readPlanes<2>(from, m_count, out);
        case 3:
            return readPlanes<3>(from, m_count, out);
        case 4:
            return readPlanes<4>(from, m_count, out);
        case 5:
            return readPlanes<5>(from, m_count, out);
        case 6:
            return readPlanes<6>(from, m_count, out);
        case 7:
            return readPlanes<7>(from, m_count, out);
        case 8:
            return readPlanes<8>(from, m_count, out);
        default:
            return static_cast<void>(std::fill(out.begin(), out.end(), 0));
    }
}

void ColumnReader::read(std::span<std::int64_t> out) {
    readResiduals(out);
    m_position += out.size();
    const auto base = static_cast<std::uint64_t>(m_base);
    if (m_transform == kDelta) {
        std::uint64_t value = m_previous;
        for (std::int64_t& residual : out) {
            value += base + static_cast<std::uint64_t>(residual);
            residual = static_cast<std::int64_t>(value);
        }
        m_previous = value;
    } else {
        for (std::int64_t& residual : out)
            residual = static_cast<std::int64_t>(base + static_cast<std::uint64_t>(residual));
    }
    if (m_dictionary.empty()) return;
    for (std::int64_t& index : out) index = m_dictionary[static_cast<std::size_t>(index)];
}

bool decodeColumn(ByteReader& in, std::size_t count, std::vector<std::int64_t>& out) {
    ColumnReader reader;
    if (!reader.open(in, count)) return false;
    out.resize(count);
    reader.read(out);
    return true;
}

void encodeDoubles(std::span<const double> values, std::vector<std::byte>& out) {
    const bool whole = std::all_of(values.begin(), values.end(), isWhole);
    std::vector<std::int64_t> integers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        integers[i] =
            whole ? static_cast<std::int64_t>(values[i]) : std::bit_cast<std::int64_t>(values[i]);
    putNumber(out, whole ? kWholeNumbers : kBits);
    encodeColumn(integers, out);
}

bool decodeDoubles(ByteReader& in, std::size_t count, std::vector<double>& out) {
    const auto form = in.number<std::uint8_t>();
    std::vector<std::int64_t> integers;
    if (form > kBits || !decodeColumn(in, count, integers)) return false;
    out.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = form == kWholeNumbers ? static_cast<double>(integers[i])
                                       : std::bit_cast<double>(integers[i]);
    return true;
}

}  // namespace shardscope::columns
