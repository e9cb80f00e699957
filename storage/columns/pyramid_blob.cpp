#include "storage/columns/chunk_frame.h"
#include "storage/columns/column.h"
#include "storage/columns/envelope.h"
#include "storage/columns/pyramid.h"

namespace shardscope::columns {
namespace {

constexpr std::uint32_t kMagic = 0x31595053u;  // "SPY1"
enum BlobType : std::uint32_t { kSpans = 1, kCounters = 2 };
constexpr std::size_t kFrontBytes = 12;
/// 1,024 buckets, 256 depths and as many lone spans.
constexpr std::uint32_t kMaxSummaries = 2u << 18;
constexpr std::size_t kMaxBytesASummary = 12 * 8;
constexpr std::size_t kSpanColumns = 12;

std::vector<std::byte> close(BlobType type, std::size_t count, std::span<const std::byte> payload) {
    std::vector<std::byte> out;
    putNumber(out, kMagic);
    putNumber(out, static_cast<std::uint32_t>(type));
    putNumber(out, static_cast<std::uint32_t>(count));
    seal(out, payload);
    return out;
}

tl::unexpected<Error> malformed() {
    return failure(ErrorCode::kUnreadable,
                   "a pyramid segment is malformed; the file is damaged there");
}

struct OpenBlob {
    std::uint32_t count = 0;
    std::vector<std::byte> payload;
};

Result<OpenBlob> open(BlobType type, std::span<const std::byte> blob) {
    ByteReader in(blob);
    const auto magic = in.number<std::uint32_t>();
    const auto stored = in.number<std::uint32_t>();
    const auto count = in.number<std::uint32_t>();
    if (!in.good() || magic != kMagic || stored != type || count > kMaxSummaries)
        return malformed();
    auto payload = unseal(blob, kFrontBytes, count * kMaxBytesASummary + 4096, "a pyramid segment");
    if (!payload) return failure(payload);
    return OpenBlob{count, std::move(*payload)};
}

bool inRange(std::int64_t value) {
    return value >= -kValueLimit && value <= kValueLimit;
}

bool readSummary(const BlockReader<kSpanColumns>& block, std::size_t i, SpanSummary& s) {
    const auto value = [&](std::size_t column) { return block.column(column)[i]; };
    if (!inRange(value(1)) || !inRange(value(2)) || !inRange(value(3)) || !inRange(value(5)))
        return false;
    Narrow narrow;
    narrow.store(value(0), s.depth);
    s.first.ns = value(1);
    s.last.ns = value(1) + value(2);
    s.busy.ns = value(2) - value(3);
    narrow.store(value(4), s.count);
    s.longest.ns = s.busy.ns - value(5);
    narrow.store(value(6), s.name.value);
    narrow.store(value(7), s.layer.value);
    narrow.store(value(8), s.step.value);
    narrow.store(value(9), s.phase);
    s.correlation = static_cast<std::uint64_t>(value(10));
    narrow.store(value(11), s.arguments.value);
    return narrow.fits() && s.count > 0 && value(2) >= 0;
}

}  // namespace

std::vector<std::byte> encodeSummaries(std::span<const SpanSummary> summaries) {
    ColumnWriter<SpanSummary> columns(summaries);
    columns.add([](const SpanSummary& s) { return s.depth; });
    columns.add([](const SpanSummary& s) { return s.first.ns; });
    columns.add([](const SpanSummary& s) { return (s.last - s.first).ns; });
    columns.add([](const SpanSummary& s) { return (s.last - s.first - s.busy).ns; });
    columns.add([](const SpanSummary& s) { return s.count; });
    columns.add([](const SpanSummary& s) { return (s.busy - s.longest).ns; });
    columns.add([](const SpanSummary& s) { return s.name.value; });
    columns.add([](const SpanSummary& s) { return s.layer.value; });
    columns.add([](const SpanSummary& s) { return s.step.value; });
    columns.add([](const SpanSummary& s) { return s.phase; });
    // Only a summary of one span says which one it is.
    columns.add([](const SpanSummary& s) { return s.count == 1 ? s.correlation : 0; });
    columns.add([](const SpanSummary& s) { return s.count == 1 ? s.arguments.value : 0; });
    return close(kSpans, summaries.size(), columns.payload());
}

Result<std::vector<SpanSummary>> decodeSpanSummaries(std::span<const std::byte> blob) {
    auto opened = open(kSpans, blob);
    if (!opened) return failure(opened);
    ByteReader in(opened->payload);
    BlockReader<kSpanColumns> blocks;
    std::vector<SpanSummary> summaries(opened->count);
    if (!blocks.open(in, summaries.size()) || in.left() != 0) return malformed();
    for (std::size_t at = 0; const std::size_t size = blocks.next();)
        for (std::size_t i = 0; i < size; ++i, ++at)
            if (!readSummary(blocks, i, summaries[at])) return malformed();
    return summaries;
}

std::vector<std::byte> encodeSummaries(std::span<const CounterSummary> summaries) {
    ColumnWriter<CounterSummary> columns(summaries);
    columns.add([](const CounterSummary& s) { return s.first.ns; });
    columns.add([](const CounterSummary& s) { return (s.last - s.first).ns; });
    columns.add([](const CounterSummary& s) { return s.count; });
    const auto addDoubles = [&](double CounterSummary::*field) {
        std::vector<double> values;
        for (const CounterSummary& summary : summaries) values.push_back(summary.*field);
        encodeDoubles(values, columns.payload());
    };
    addDoubles(&CounterSummary::minimum);
    addDoubles(&CounterSummary::maximum);
    addDoubles(&CounterSummary::latest);
    return close(kCounters, summaries.size(), columns.payload());
}

Result<std::vector<CounterSummary>> decodeCounterSummaries(std::span<const std::byte> blob) {
    auto opened = open(kCounters, blob);
    if (!opened) return failure(opened);
    ByteReader in(opened->payload);
    const std::size_t count = opened->count;
    std::vector<std::int64_t> firsts;
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> counts;
    std::vector<double> minima;
    std::vector<double> maxima;
    std::vector<double> latest;
    const bool good = decodeColumn(in, count, firsts) && decodeColumn(in, count, extents) &&
                      decodeColumn(in, count, counts) && decodeDoubles(in, count, minima) &&
                      decodeDoubles(in, count, maxima) && decodeDoubles(in, count, latest);
    if (!good || in.left() != 0) return malformed();
    std::vector<CounterSummary> summaries(count);
    Narrow narrow;
    for (std::size_t i = 0; i < count; ++i) {
        narrow.require(inRange(firsts[i]) && inRange(extents[i]) && extents[i] >= 0);
        if (!narrow.fits()) return malformed();
        CounterSummary& s = summaries[i];
        s = {{firsts[i]}, {firsts[i] + extents[i]}, minima[i], maxima[i], latest[i], 0};
        narrow.store(counts[i], s.count);
        narrow.require(s.count > 0);
    }
    if (!narrow.fits()) return malformed();
    return summaries;
}

}  // namespace shardscope::columns
