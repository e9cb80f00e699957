#include "profiler/questions/work_tables.h"

#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/analysis/steps/step_parts.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/device_work.h"
#include "storage/interchange/decimal.h"
#include "storage/interchange/json_text.h"
#include "storage/interchange/kineto/out/trace_events.h"
#include "storage/model/argument_words.h"
#include "storage/model/events.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace shardscope::questions {
namespace {

using analysis::PartRanges;
using analysis::StepPart;

/// Collectives of an operation and cause.
struct CollectiveSum {
    std::vector<std::int64_t> durations;  ///< ns
    Bytes bytes;
    bool sized = true;

    void add(const CollectiveEvent& event) {
        durations.push_back((event.end - event.start).ns);
        sized = sized && event.size != kUnknownSize;
        bytes += event.size;
    }
    [[nodiscard]] std::int64_t total() const {
        return std::accumulate(durations.begin(), durations.end(), std::int64_t{0});
    }
    [[nodiscard]] double mean() const {
        return static_cast<double>(total()) / static_cast<double>(durations.size());
    }
    [[nodiscard]] double deviation() const {
        double squares = 0;
        const double middle = mean();
        for (const std::int64_t each : durations)
            squares += std::pow(static_cast<double>(each) - middle, 2);
        return std::sqrt(squares / static_cast<double>(durations.size()));
    }
    [[nodiscard]] std::int64_t median() const { return analysis::medianOf(durations); }
    [[nodiscard]] std::int64_t longest() const {
        return *std::max_element(durations.begin(), durations.end());
    }
};

/// Copies of one direction and kind of memory.
struct CopySum {
    std::int64_t count = 0;
    Duration total;
    std::optional<std::int64_t> bytes = 0;  ///< of all; absent where one does not say it

    void add(Duration time, std::optional<std::int64_t> size) {
        ++count;
        total += time;
        bytes = bytes && size ? std::optional(*bytes + *size) : std::nullopt;
    }
};
using CopySums = std::map<std::string, CopySum>;

/// "Memcpy HtoD (Pageable -> Device)", as PyTorch's profiler calls them, and its bytes.
struct CopyKind {
    std::string name;
    std::optional<std::int64_t> bytes;
};
CopyKind copyKindOf(std::string_view name, std::string_view arguments) {
    std::vector<interchange::Member> members;
    interchange::TextFlags flags;
    const char* const end = arguments.data() + arguments.size();
    if (arguments.empty() || interchange::readMembers(arguments.data(), end, members, flags) != end)
        members.clear();
    const auto text = [&](std::string_view key) {
        return interchange::textOf(interchange::valueOf(members, key));
    };
    return {interchange::kineto_out::copyName(name, text(arguments::kFrom), text(arguments::kTo)),
            interchange::parseInteger(text(arguments::kBytes))};
}

Result<void> addLane(const Asked& asked, const LaneFacts& lane, CopySums& sums) {
    const auto spans =
        asked.reader.spans(lane.rank, lane.lane, asked.selection.timeOf(asked.summary, lane.rank));
    if (!spans) return failure(spans);
    for (const SpanEvent& span : *spans) {
        if (span.step != kNoStep && !asked.selection.takesStep(span.step)) continue;
        if (isApart(span)) continue;
        const CopyKind kind = copyKindOf(asked.reader.text(lane.rank, span.name),
                                         std::string(asked.reader.text(lane.rank, span.arguments)));
        sums[kind.name].add(span.duration, kind.bytes);
    }
    return {};
}

Table emptyCollectives() {
    return {"collectives",
            "Collectives",
            {{"operation", "operation"},
             {"cause", "cause"},
             {"count", "count", Unit::kCount, "Each counts on every rank."},
             {"total_ns", "total", Unit::kNanoseconds, "From start to end, waiting included."},
             {"median_ns", "median", Unit::kNanoseconds, "Of a single one."},
             {"mean_ns", "mean", Unit::kNanoseconds, "Of a single one: total / count."},
             {"deviation_ns", "deviation", Unit::kNanoseconds, "Standard deviation."},
             {"longest_ns", "longest", Unit::kNanoseconds, "Single one."},
             {"bytes", "size", Unit::kBytes, "Payload of all together, on every rank."}},
            {}};
}

/// Phases of a recording of our own.
PartRanges rangesOf(const std::vector<SpanEvent>& phases) {
    PartRanges ranges;
    for (const SpanEvent& phase : phases)
        if (!isApart(phase))
            ranges[static_cast<std::size_t>(analysis::stepPartOf(phase.phase))].push_back(
                phase.range());
    return ranges;
}

/// Adds what the names of a lane's spans say.
Result<void> addNamed(const Asked& asked, const LaneFacts& lane, PartRanges& ranges) {
    const TimeRange time = asked.selection.timeOf(asked.summary, lane.rank);
    const auto spans = asked.reader.spans(lane.rank, lane.lane, time);
    if (!spans) return failure(spans);
    std::unordered_map<std::uint32_t, std::optional<StepPart>> parts;
    for (const SpanEvent& span : *spans) {
        const auto [part, fresh] = parts.try_emplace(span.name.value);
        if (fresh) part->second = analysis::partOfName(asked.reader.text(lane.rank, span.name));
        if (part->second)
            ranges[static_cast<std::size_t>(*part->second)].push_back(
                span.range().intersection(time));
    }
    return {};
}

/// Host threads' lanes; annotations of a device are called after its streams.
Result<PartRanges> namedRanges(const Asked& asked, RankId rank) {
    std::set<std::string_view> streams;
    for (const LaneFacts& lane : asked.summary.lanes)
        if (lane.rank == rank && isStreamLane(lane.lane)) streams.insert(withoutUse(lane.name));
    PartRanges ranges;
    for (const LaneFacts& lane : asked.summary.lanes) {
        const bool named = lane.role == LaneRole::kHost || lane.role == LaneRole::kRange;
        if (lane.rank != rank || !named || streams.contains(withoutUse(lane.name))) continue;
        if (auto done = addNamed(asked, lane, ranges); !done) return failure(done);
    }
    return ranges;
}

Table emptyParts() {
    return {"parts",
            "Forward, backward, optimizer: time of the host",
            {{"rank", "rank"},
             {"part", "part"},
             {"time_ns", "time", Unit::kNanoseconds, "Union, each moment in one part only."},
             {"share_pct", "of parts", Unit::kPercent, "Of the parts together."},
             {"from", "from", Unit::kNone,
              "Phases of the step thread, or the names of annotations and of autograd's spans."}},
            {}};
}

bool addRows(RankId rank, const analysis::PartTimes& times, const char* from, Table& table) {
    Duration all;
    for (const Duration time : times) all += time;
    if (all.ns <= 0) return false;
    for (const StepPart part : kAll<StepPart>) {
        const Duration time = times[static_cast<std::size_t>(part)];
        if (time.ns > 0)
            table.rows.push_back({std::int64_t{rank.value}, toWord(part), time.ns,
                                  100 * static_cast<double>(time.ns) / static_cast<double>(all.ns),
                                  from});
    }
    return true;
}

using CollectiveSums = std::map<std::pair<CollectiveOp, Cause>, CollectiveSum>;

void addCollectives(const CollectiveSums& sums, Answer& answer) {
    if (sums.empty()) {
        answer.unknown.emplace_back(
            "collectives unknown: none is in the recording, or in the selection");
        return;
    }
    Table table = emptyCollectives();
    for (const auto& [key, sum] : sums)
        table.rows.push_back({toWord(key.first), toWord(key.second),
                              static_cast<std::int64_t>(sum.durations.size()), sum.total(),
                              sum.median(), sum.mean(), sum.deviation(), sum.longest(),
                              sum.sized ? Cell(sum.bytes.count) : Cell()});
    const std::size_t total = table.columnAt("total_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[total]) > numberOf(b[total]);
    });
    answer.tables.push_back(std::move(table));
}

/// Those of a rank.
Result<void> addParts(const Asked& asked, const RankEvents& events, Table& table, Answer& answer) {
    PartRanges ranges = rangesOf(events.phases);
    if (events.phases.empty()) {
        auto named = namedRanges(asked, events.rank);
        if (!named) return failure(named);
        ranges = std::move(*named);
    }
    const char* from = events.phases.empty() ? "names" : "phases";
    if (!addRows(events.rank, analysis::partTimes(std::move(ranges)), from, table))
        answer.unknown.push_back(analysis::withHow(
            fmt::format("forward and backward of rank {} cannot be separated: neither phases "
                        "nor names say it",
                        events.rank.value),
            asked.summary, analysis::Lack::kPhases));
    return {};
}

}  // namespace

Result<RankWork> readRankWork(const Asked& asked) {
    RankWork work;
    CollectiveSums sums;
    Table parts = emptyParts();
    for (const RankFacts& rank : asked.summary.ranks) {
        const auto events = asked.events(rank.rank);
        if (!events) return failure(events);
        for (const CollectiveEvent& event : events->collectives)
            sums[{event.operation, event.cause}].add(event);
        if (auto done = addParts(asked, *events, parts, work.parts); !done) return failure(done);
    }
    addCollectives(sums, work.collectives);
    if (!parts.rows.empty()) work.parts.tables.push_back(std::move(parts));
    return work;
}

void append(Answer part, Answer& answer) {
    std::move(part.tables.begin(), part.tables.end(), std::back_inserter(answer.tables));
    std::move(part.unknown.begin(), part.unknown.end(), std::back_inserter(answer.unknown));
}

Result<void> addCopies(const Asked& asked, Answer& answer) {
    CopySums sums;
    for (const LaneFacts& lane : asked.summary.lanes)
        if (lane.role == LaneRole::kCopy && isStreamLane(lane.lane) &&
            asked.selection.takes(lane.rank))
            if (auto done = addLane(asked, lane, sums); !done) return done;
    if (sums.empty()) return {};
    Duration all;
    for (const auto& [name, sum] : sums) all += sum.total;
    Table table{"copies",
                "Copies and sets of memory",
                {{"name", "name", Unit::kNone,
                  "Direction and memory: from pageable memory of the host a copy waits for the "
                  "host."},
                 {"count", "count", Unit::kCount},
                 {"bytes", "bytes", Unit::kBytes, "Of all."},
                 {"total_ns", "total", Unit::kNanoseconds, "Streams run at the same time."},
                 {"share_pct", "of total", Unit::kPercent, "Total / the sum of all."},
                 {"bytes_per_s", "bandwidth", Unit::kBytesPerSecond, "Bytes / total."}},
                {}};
    for (const auto& [name, sum] : sums)
        table.rows.push_back({name, sum.count, sum.bytes ? Cell(*sum.bytes) : Cell(), sum.total.ns,
                              share(sum.total, all),
                              sum.bytes && sum.total.ns > 0
                                  ? Cell(static_cast<double>(*sum.bytes) / sum.total.seconds())
                                  : Cell()});
    const std::size_t total = table.columnAt("total_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[total]) > numberOf(b[total]);
    });
    answer.tables.push_back(std::move(table));
    return {};
}

void putInOrder(const Asked& asked, Table& table) {
    if (asked.by) {
        const char* wanted = entryOf(*asked.by)->column;
        const auto column =
            std::find_if(table.columns.begin(), table.columns.end(),
                         [&](const Column& each) { return std::string_view(each.key) == wanted; });
        const auto at = static_cast<std::size_t>(column - table.columns.begin());
        if (column != table.columns.end())
            std::stable_sort(
                table.rows.begin(), table.rows.end(),
                [&](const auto& a, const auto& b) { return numberOf(a[at]) > numberOf(b[at]); });
    }
    if (asked.top > 0 && table.rows.size() > asked.top) table.rows.resize(asked.top);
}

}  // namespace shardscope::questions
