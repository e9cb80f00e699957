#include "app/cli/answers/report_text.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {
namespace {

using analysis::DeviceUse;
using analysis::HtaNumbers;
using analysis::LedgerPart;
using analysis::RankMemory;
using analysis::Report;
using questions::Answer;
using questions::Cell;
using questions::Table;

Cell rankCell(RankId rank) {
    return std::int64_t{rank.value};
}

/// Of theory; none where there is none.
Cell shareOf(Bytes part, Bytes whole) {
    return questions::share({part.count}, {whole.count});
}

/// Quantities over many ranks, a row each: least, median, most, and whose that is.
Table spreadTable(Unit unit) {
    return {"spread",
            "",
            {{"quantity", ""},
             {"least", "least", unit},
             {"median", "median", unit},
             {"most", "most", unit},
             {"most_on", "most on"}},
            {}};
}

/// `items`, at least one, have a `rank`.
template <class Item, class Value>
void addSpread(Table& table, const char* name, std::vector<Item> items, Value value) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const Item& a, const Item& b) { return value(a) < value(b); });
    const std::int64_t least = value(items.front()), most = value(items.back());
    table.rows.push_back(
        {name, least, value(items[items.size() / 2]), most,
         least < most ? fmt::format("rank {}", items.back().rank.value) : "all alike"});
}

/// Why there is nothing to show.
const char* absence(const Report& report) {
    if (sourceOf(report.run) == RecordingSource::kImport) return "are not in this trace";
    if (sourceOf(report.run) == RecordingSource::kProgram) return "are not in this recording";
    if (!report.basis.whole()) return "are not in the file any more, or never were: see Recording";
    if (report.running) return "are not in the file yet: the run is being recorded";
    return report.finalised ? "were not recorded at this capture level"
                            : "are not in the file: the recording was not finalised";
}

struct RankSum {
    RankId rank;
    Duration wall;
    analysis::LedgerParts parts{};

    /// Without computing: blocked in collectives, or waiting for others.
    [[nodiscard]] Duration held() const { return analysis::blockedIn(parts); }
    [[nodiscard]] Duration of(LedgerPart part) const { return parts[analysis::at(part)]; }
};

std::vector<RankSum> sumsOf(const Report& report) {
    std::map<RankId, RankSum> sums;
    for (const analysis::LedgerRow& row : report.ledger) {
        RankSum& sum = sums[row.rank];
        sum.rank = row.rank;
        sum.wall += row.wall;
        for (std::size_t part = 0; part < sum.parts.size(); ++part)
            sum.parts[part] += row.parts[part];
    }
    std::vector<RankSum> all;
    for (const auto& [rank, sum] : sums) all.push_back(sum);
    return all;
}

Answer ledgerOfMany(std::vector<RankSum> sums) {
    Table table = spreadTable(Unit::kNanoseconds);
    for (const LedgerPart part : kAll<LedgerPart>) {
        const auto isSeen = [part](const RankSum& sum) {
            return sum.of(part).ns > sum.wall.ns / 100;
        };
        if (std::any_of(sums.begin(), sums.end(), isSeen))
            addSpread(table, toWord(part), sums,
                      [part](const RankSum& sum) { return sum.of(part).ns; });
    }
    addSpread(table, "wall time", sums, [](const RankSum& sum) { return sum.wall.ns; });
    std::stable_sort(sums.begin(), sums.end(),
                     [](const RankSum& a, const RankSum& b) { return a.held() > b.held(); });
    sums.resize(std::min(sums.size(), kWorstRanks));
    std::vector<std::string> held;
    for (const RankSum& sum : sums)
        held.push_back(fmt::format(
            "rank {} {} ({})", sum.rank.value, durationText(sum.held()),
            shareText(static_cast<double>(sum.held().ns), static_cast<double>(sum.wall.ns))));
    Answer answer;
    answer.tables.push_back(std::move(table));
    answer.sentences.push_back(
        fmt::format("blocked or waiting longest: {}", fmt::join(held, ", ")));
    return answer;
}

Answer memoryOfMany(const Report& report) {
    Answer answer;
    std::vector<RankMemory> known;
    for (const RankMemory& memory : report.memory)
        if (memory.known) known.push_back(memory);
    if (!known.empty()) {
        Table table = spreadTable(Unit::kBytes);
        addSpread(table, "peak", known, [](const RankMemory& memory) { return memory.peak.count; });
        if (std::any_of(known.begin(), known.end(),
                        [](const auto& memory) { return memory.managed() != memory.peak; }))
            addSpread(table, "within the allocator", known,
                      [](const RankMemory& memory) { return memory.managed().count; });
        if (std::any_of(known.begin(), known.end(),
                        [](const RankMemory& memory) { return memory.theory.count != 0; }))
            addSpread(table, "theory", known,
                      [](const RankMemory& memory) { return memory.theory.count; });
        answer.tables.push_back(std::move(table));
    }
    if (const std::size_t unknown = report.memory.size() - known.size(); unknown > 0)
        answer.sentences.push_back(fmt::format("Of {} ranks memory events are not there", unknown));
    return answer;
}

void addMemory(const RankMemory& memory, Table& table) {
    for (std::size_t category = 0; category < memory.byCategory.size(); ++category) {
        const Bytes held = memory.byCategory[category], theory = memory.theoryByCategory[category];
        if (held.count == 0 && theory.count == 0) continue;
        table.rows.push_back({rankCell(memory.rank), toWord(static_cast<MemoryCategory>(category)),
                              held.count, theory.count == 0 ? Cell() : Cell(theory.count),
                              shareOf(held, theory)});
    }
    table.rows.push_back({rankCell(memory.rank),
                          memory.managed() != memory.peak ? "total within the allocator" : "total",
                          memory.managed().count,
                          memory.theory.count == 0 ? Cell() : Cell(memory.theory.count),
                          shareOf(memory.managed(), memory.theory)});
}

/// One device or, `place` left out, several of a kind.
std::string kindText(const DeviceFacts& device, const std::string& place) {
    return fmt::format("{}{}, {}, driver {}",
                       device.name.empty() ? "device not named" : device.name, place,
                       device.memory.count > 0 ? bytesText(device.memory) : "memory unknown",
                       device.driver.empty() ? "unknown" : device.driver);
}

std::string tracingText(const DeviceFacts& device) {
    const bool why = device.tracing.starts_with("not traced");
    return fmt::format(
        "; {}{}{}{}",
        device.attention.empty() ? "" : fmt::format("attention by {}; ", device.attention),
        why ? "" : "traced by ", device.tracing,
        device.sharedBy > 1
            ? fmt::format(
                  "; shared device of {} ranks: its times do not show the speed of a device per "
                  "rank",
                  device.sharedBy)
            : "");
}

std::string deviceText(const DeviceUse& use) {
    const DeviceFacts& device = use.device;
    std::string text =
        fmt::format("rank {}: ", device.rank.value) +
        kindText(device, device.pciBusId.empty() ? "" : " (" + device.pciBusId + ")");
    if (device.measuredPeak)
        text += fmt::format(
            "; {}, {}", quantityText(*device.measuredPeak, Unit::kFlops, Digits::kScreen).joined(),
            device.measuredPeakSource);
    text += tracingText(device);
    if (use.joulesPerStep) text += fmt::format("; {:.1f} J per step", *use.joulesPerStep);
    if (use.joulesPerStep && use.joulesPerToken)
        text += fmt::format(", {:.3f} mJ per token", *use.joulesPerToken * 1e3);
    return text;
}

Answer devicesOfFew(const Report& report) {
    Answer answer;
    Table table{"devices",
                "",
                {{"rank", "rank"},
                 {"kernels", "kernels", Unit::kCount},
                 {"compute_ns", "compute", Unit::kNanoseconds},
                 {"communication_ns", "communication", Unit::kNanoseconds},
                 {"hidden_ns", "hidden", Unit::kNanoseconds},
                 {"overlap", "overlap"},
                 {"idle_ns", "no kernel", Unit::kNanoseconds},
                 {"copies_ns", "of it copies", Unit::kNanoseconds},
                 {"copies_pct", "of all", Unit::kPercent}},
                {}};
    for (const DeviceUse& use : report.devices) {
        answer.sentences.push_back(deviceText(use));
        if (use.traced)
            table.rows.push_back({rankCell(use.device.rank), use.kernels, use.compute.ns,
                                  use.communication.ns, use.hidden.ns,
                                  questions::cell(use.overlap()), use.idle.ns, use.copies.ns,
                                  questions::share(use.copies, use.whole())});
    }
    answer.tables.push_back(std::move(table));
    return answer;
}

/// A traced device's time, by rank.
struct DeviceTime {
    RankId rank;
    const DeviceUse* use = nullptr;
};

Answer devicesOfMany(const Report& report) {
    std::map<std::string, std::int64_t> kinds;
    std::vector<DeviceTime> traced;
    for (const DeviceUse& use : report.devices) {
        ++kinds[kindText(use.device, "") + tracingText(use.device)];
        if (use.traced) traced.push_back({use.device.rank, &use});
    }
    Answer answer;
    for (const auto& [kind, count] : kinds)
        answer.sentences.push_back(counted(count, "rank") + ": " + kind);
    if (traced.empty()) return answer;
    Table table = spreadTable(Unit::kNanoseconds);
    const auto add = [&](const char* name, Duration DeviceUse::*time) {
        addSpread(table, name, traced,
                  [time](const DeviceTime& each) { return (each.use->*time).ns; });
    };
    add("compute", &DeviceUse::compute);
    add("communication", &DeviceUse::communication);
    add("no kernel", &DeviceUse::idle);
    const auto copies = [](const DeviceTime& each) {
        return each.use->copies.ns > each.use->whole().ns / 100;
    };
    if (std::any_of(traced.begin(), traced.end(), copies)) add("of it copies", &DeviceUse::copies);
    answer.tables.push_back(std::move(table));
    return answer;
}

Answer htaOfFew(const std::vector<HtaNumbers>& all) {
    Table times{"hta",
                "",
                {{"rank", "rank"},
                 {"kernel_ns", "kernel time", Unit::kNanoseconds},
                 {"idle_ns", "idle", Unit::kNanoseconds},
                 {"idle_pct", "share", Unit::kPercent},
                 {"compute_ns", "compute", Unit::kNanoseconds},
                 {"compute_pct", "share", Unit::kPercent},
                 {"non_compute_ns", "non-compute", Unit::kNanoseconds},
                 {"non_compute_pct", "share", Unit::kPercent},
                 {"overlap_pct", "overlap", Unit::kPercent}},
                {}};
    Table streams{"hta_idle",
                  "Idle between kernels of a stream",
                  {{"rank", "rank"},
                   {"stream", "stream"},
                   {"host_wait_ns", "host wait", Unit::kNanoseconds},
                   {"kernel_wait_ns", "kernel wait", Unit::kNanoseconds},
                   {"other_ns", "other", Unit::kNanoseconds}},
                  {}};
    bool negative = false;
    for (const HtaNumbers& each : all) {
        const auto of = [&](std::int64_t ns) { return questions::share({ns}, {each.kernelNs}); };
        times.rows.push_back({rankCell(each.rank), each.kernelNs, each.idleNs, of(each.idleNs),
                              each.computeNs, of(each.computeNs), each.nonComputeNs,
                              of(each.nonComputeNs), questions::cell(each.overlapPercent)});
        for (const analysis::HtaIdle& idle : each.idle) {
            streams.rows.push_back({rankCell(each.rank), std::int64_t{idle.stream}, idle.hostWaitNs,
                                    idle.kernelWaitNs, idle.otherNs});
            negative = negative || idle.hostWaitNs < 0 || idle.kernelWaitNs < 0 || idle.otherNs < 0;
        }
    }
    Answer answer;
    answer.tables = {std::move(times), std::move(streams)};
    if (negative)
        answer.sentences.emplace_back(
            "less than zero where work of a stream overlaps, which HTA subtracts; analyze launches "
            "does not");
    return answer;
}

std::string htaOfMany(const std::vector<HtaNumbers>& all) {
    const auto median = [&](std::int64_t HtaNumbers::*time) {
        std::vector<std::int64_t> values;
        for (const HtaNumbers& each : all) values.push_back(each.*time);
        std::sort(values.begin(), values.end());
        return durationText({values[values.size() / 2]});
    };
    std::vector<double> overlaps;
    for (const HtaNumbers& each : all)
        if (each.overlapPercent) overlaps.push_back(*each.overlapPercent);
    std::sort(overlaps.begin(), overlaps.end());
    return fmt::format(
        "as HTA counts, medians: idle {}, compute {}, non-compute {}, overlap {}; each: analyze "
        "breakdown --mode hta",
        median(&HtaNumbers::idleNs), median(&HtaNumbers::computeNs),
        median(&HtaNumbers::nonComputeNs),
        overlaps.empty() ? "none" : fmt::format("{:.2f} %", overlaps[overlaps.size() / 2]));
}

}  // namespace

Answer ledgerAnswer(const Report& report, bool brief) {
    Answer answer;
    const std::vector<RankSum> sums = sumsOf(report);
    if (sums.empty()) {
        answer.sentences.push_back(analysis::withHow(
            fmt::format("phases {}", absence(report)), report,
            report.basis.steps == 0 ? analysis::Lack::kSteps : analysis::Lack::kPhases));
        return answer;
    }
    if (brief) return ledgerOfMany(sums);
    Table table{"ledger",
                "",
                {{"rank", "rank"},
                 {"part", "part"},
                 {"ns", "time", Unit::kNanoseconds},
                 {"pct", "of wall time", Unit::kPercent}},
                {}};
    const auto every = sumOfParts(report.ledger);
    for (const RankSum& sum : sums) {
        for (const LedgerPart part : kAll<LedgerPart>)
            if (every[analysis::at(part)].ns != 0)
                table.rows.push_back({rankCell(sum.rank), toWord(part), sum.of(part).ns,
                                      questions::share(sum.of(part), sum.wall)});
        table.rows.push_back(
            {rankCell(sum.rank), "wall time", sum.wall.ns, questions::share(sum.wall, sum.wall)});
    }
    answer.tables.push_back(std::move(table));
    return answer;
}

Answer memoryAnswer(const Report& report, bool brief) {
    if (brief) return memoryOfMany(report);
    Answer answer;
    Table peaks{"peaks",
                "",
                {{"rank", "rank"},
                 {"peak_bytes", "peak", Unit::kBytes},
                 {"peak_ns", "at", Unit::kNanoseconds}},
                {}};
    Table categories{"categories",
                     "",
                     {{"rank", "rank"},
                      {"category", "category"},
                      {"bytes", "bytes", Unit::kBytes},
                      {"theory_bytes", "theory", Unit::kBytes, "", questions::Shown::kWhereAny},
                      {"theory_pct", "of theory", Unit::kPercent, "", questions::Shown::kWhereAny}},
                     {}};
    for (const RankMemory& memory : report.memory) {
        if (!memory.known) {
            answer.sentences.push_back(analysis::withHow(
                fmt::format("rank {}: memory events {}", memory.rank.value, absence(report)),
                report, analysis::Lack::kMemory));
            continue;
        }
        peaks.rows.push_back({rankCell(memory.rank), memory.peak.count, memory.peakTime.ns});
        addMemory(memory, categories);
    }
    answer.tables = {std::move(peaks), std::move(categories)};
    return answer;
}

Answer devicesAnswer(const Report& report, bool brief) {
    if (report.devices.empty()) return {};
    return brief ? devicesOfMany(report) : devicesOfFew(report);
}

Answer htaAnswer(const Report& report, bool brief) {
    std::vector<HtaNumbers> usual;  // as HTA counts unless asked otherwise
    for (const HtaNumbers& each : report.hta)
        if (!each.options.wholeMicroseconds && !each.options.keepLastStep) usual.push_back(each);
    if (usual.empty() || !brief) return usual.empty() ? Answer() : htaOfFew(usual);
    Answer answer;
    answer.sentences.push_back(htaOfMany(usual));
    return answer;
}

}  // namespace shardscope::cli
