#include "profiler/analysis/communication/transfers.h"
#include "profiler/analysis/report/lacks.h"
#include "profiler/questions/answer/cells.h"
#include "profiler/questions/communication.h"
#include "profiler/questions/questions.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::questions {
namespace {

using analysis::Transfer;
using analysis::TransferClass;

const char* kTransferDefinition =
    "For how long data moved: the shortest over the ranks from the last arrival to the end.";

Table classTable(const std::vector<TransferClass>& classes, GroupNames& groups) {
    Table table{
        "operations",
        "By operation and group",
        {{"operation", "operation"},
         {"group", "group", Unit::kNone, "Ranks that take part."},
         {"kind", "kind", Unit::kNone,
          "What they share: data (all but batches), sharding (a copy of the state), tensor "
          "(layers)."},
         {"count", "count", Unit::kCount},
         {"bytes", "size", Unit::kBytes, "Payload of all together, of those whose size is known."},
         {"waited_ns", "waited", Unit::kNanoseconds,
          "Before the last rank arrived, all ranks together."},
         {"moved_ns", "moved", Unit::kNanoseconds, "Transfers, one after the other."},
         {"median_skew_ns", "skew", Unit::kNanoseconds,
          "Median from the first arrival to the last."},
         {"algorithm_bytes_per_s", "algorithm", Unit::kBytesPerSecond,
          "Algorithm bandwidth: size / transfer."},
         {"bus_bytes_per_s", "bus", Unit::kBytesPerSecond,
          "Bus bandwidth: algorithm bandwidth x 2 (n - 1) / n for all-reduce, (n - 1) / n for "
          "all-gather, reduce-scatter and all-to-all, 1 for broadcast."},
         {"best_bus_bytes_per_s", "best", Unit::kBytesPerSecond, "Highest bus bandwidth of one."},
         {"alpha_ns", "latency", Unit::kNanoseconds,
          "alpha of time = alpha + beta x size, fitted to the shortest time of each size; from the "
          "last "
          "rank's arrival to the last rank's end, as `bench comm` and `calibrate` have it."},
         {"link_bytes_per_s", "1 / beta", Unit::kBytesPerSecond, "What the fit says of long ones."},
         {"outliers", "outliers", Unit::kCount,
          "Transfers over 1.5 x the median of their operation, group and size."}},
        {}};
    for (const TransferClass& each : classes)
        table.rows.push_back(
            {toWord(each.operation), groups.of(each.group), groups.kindOf(each.group), each.count,
             each.bytes.count > 0 ? Cell(each.bytes.count) : Cell(),
             each.timed > 0 ? Cell(each.waited.ns) : Cell(),
             each.timed > 0 ? Cell(each.moved.ns) : Cell(), cell(each.medianSkew),
             cell(each.algorithmBandwidth), cell(each.busBandwidth), cell(each.bestBusBandwidth),
             each.fit ? Cell(each.fit->latencyNs) : Cell(),
             each.fit ? cell(each.fit->bytesPerSecond()) : Cell(), each.outliers});
    return table;
}

Table transferTable(const std::vector<Transfer>& transfers, GroupNames& groups) {
    Table table{"collectives",
                "Collectives, longest transfer first",
                {{"step", "step"},
                 {"layer", "layer"},
                 {"operation", "operation"},
                 {"group", "group"},
                 {"kind", "kind"},
                 {"sequence", "sequence"},
                 {"start_ns", "start", Unit::kNanoseconds, "First start on the recording's clock."},
                 {"bytes", "size", Unit::kBytes},
                 {"skew_ns", "skew", Unit::kNanoseconds, "First arrival to last."},
                 {"late_rank", "late rank", Unit::kNone, "The last to arrive."},
                 {"waited_ns", "waited", Unit::kNanoseconds, "By all ranks together."},
                 {"transfer_ns", "transfer", Unit::kNanoseconds, kTransferDefinition},
                 {"bus_bytes_per_s", "bus", Unit::kBytesPerSecond},
                 {"over_typical", "x typical", Unit::kNone,
                  "Transfer / the median of its operation, group and size."}},
                {}};
    const auto over = analysis::overTypical(transfers);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
        const Transfer& each = transfers[i];
        table.rows.push_back({stepCell(each.step), layerCell(each.layer), toWord(each.operation),
                              groups.of(each.group), groups.kindOf(each.group),
                              static_cast<std::int64_t>(each.sequence), each.range.begin.ns,
                              sizeCell(each.size), cell(each.skew),
                              each.late ? Cell(std::int64_t{each.late->value}) : Cell(),
                              each.transfer ? Cell(each.waited.ns) : Cell(), cell(each.transfer),
                              cell(each.busBandwidth()), cell(over[i])});
    }
    const std::size_t transfer = table.columnAt("transfer_ns");
    std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
        return numberOf(a[transfer]) > numberOf(b[transfer]);
    });
    return table;
}

void addUnknown(const std::vector<Transfer>& transfers, const std::vector<TransferClass>& classes,
                Answer& answer) {
    const auto moving = [](const Transfer& each) { return moves(each.operation); };
    const auto untimed = std::count_if(transfers.begin(), transfers.end(), [&](const auto& each) {
        return moving(each) && !each.transfer;
    });
    if (untimed > 0)
        answer.unknown.push_back(
            fmt::format("waiting and transfer time of {} of {} collectives cannot be separated: "
                        "not every rank of their "
                        "group is in the recording",
                        untimed, std::count_if(transfers.begin(), transfers.end(), moving)));
    const auto unsized = std::count_if(transfers.begin(), transfers.end(), [&](const auto& each) {
        return moving(each) && each.size == kUnknownSize;
    });
    if (unsized > 0)
        answer.unknown.push_back(
            fmt::format("bandwidth of {} unknown: the recording does not say the size",
                        counted(unsized, "collective")));
    for (const TransferClass& each : classes)
        if (each.timed > 0 && !each.fit)
            answer.unknown.push_back(fmt::format(
                "latency and bandwidth of {} cannot be separated: it needs two sizes, one "
                "twice the other",
                toWord(each.operation)));
}

}  // namespace

Result<Answer> askCollectives(const Asked& asked) {
    auto whole = asked.wholeGroups();
    if (!whole) return failure(whole);
    const auto* ranks = &whole->ranks;
    const auto& transfers = whole->transfers;
    Answer answer;
    if (transfers.empty()) {
        std::erase_if(whole->ranks, [&](const RankEvents& events) {
            return !asked.selection.takes(events.rank);
        });
        const auto none = analysis::Lack::kCollectives;
        if (auto done = addNoCommunication(
                asked, *ranks,
                analysis::withHow("how collectives went is unknown: none is in the recording, or "
                                  "in the selection",
                                  asked.summary, none),
                answer);
            !done)
            return failure(done);
        return answer;
    }
    const auto classes = analysis::classesOf(transfers);
    GroupNames groups(*ranks, asked.summary.run);
    answer.tables.push_back(classTable(classes, groups));
    answer.tables.push_back(transferTable(transfers, groups));
    addUnknown(transfers, classes, answer);
    return answer;
}

}  // namespace shardscope::questions
