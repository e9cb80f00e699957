#include "app/desktop/models/rank_order.h"

#include <QObject>
#include <algorithm>
#include <map>
#include <utility>

namespace shardscope::desktop {
namespace {

using analysis::LedgerPart;
using analysis::LedgerRow;
using Sums = std::map<RankId, double>;

void add(const QString& name, const Sums& sums, std::vector<RankFigure>& figures) {
    const bool any =
        std::any_of(sums.begin(), sums.end(), [](const auto& sum) { return sum.second > 0; });
    if (any && sums.size() > 1) figures.push_back({name, {sums.begin(), sums.end()}});
}

/// A rank's rows added up: one goes through them once, not once a figure.
struct RowSum {
    Duration blocked, wall;
    analysis::LedgerParts parts{};
};
using RowSums = std::map<RankId, RowSum>;

RowSums sumRows(const std::vector<LedgerRow>& ledger) {
    RowSums sums;
    for (const LedgerRow& row : ledger) {
        RowSum& sum = sums[row.rank];
        sum.blocked += analysis::blockedIn(row.parts);
        sum.wall += row.wall;
        for (std::size_t i = 0; i < sum.parts.size(); ++i) sum.parts[i] += row.parts[i];
    }
    return sums;
}

template <class TimeOf>
void addTimes(const QString& name, const RowSums& rows, TimeOf timeOf,
              std::vector<RankFigure>& figures) {
    Sums sums;
    for (const auto& [rank, sum] : rows) sums[rank] = static_cast<double>(timeOf(sum).ns);
    add(name, sums, figures);
}

void addDevices(const QString& name, const std::vector<analysis::DeviceUse>& devices,
                Duration analysis::DeviceUse::*time, std::vector<RankFigure>& figures) {
    Sums sums;
    for (const analysis::DeviceUse& device : devices)
        if (device.traced) sums[device.device.rank] += static_cast<double>((device.*time).ns);
    add(name, sums, figures);
}

}  // namespace

std::vector<RankFigure> rankFigures(const analysis::Report& report) {
    std::vector<RankFigure> figures;
    const RowSums rows = sumRows(report.ledger);
    addTimes(
        QObject::tr("blocked in communication"), rows,
        [](const RowSum& sum) { return sum.blocked; }, figures);
    for (const LedgerPart part : kAll<LedgerPart>)
        addTimes(
            QString::fromLatin1(toWord(part)), rows,
            [part](const RowSum& sum) { return sum.parts[analysis::at(part)]; }, figures);
    if (report.ledger.empty()) {
        addDevices(QObject::tr("compute"), report.devices, &analysis::DeviceUse::compute, figures);
        addDevices(QObject::tr("communication"), report.devices,
                   &analysis::DeviceUse::communication, figures);
        addDevices(QObject::tr("idle"), report.devices, &analysis::DeviceUse::idle, figures);
    }
    addTimes(
        QObject::tr("step time"), rows, [](const RowSum& sum) { return sum.wall; }, figures);
    Sums peaks;
    for (const analysis::RankMemory& memory : report.memory)
        if (memory.known) peaks[memory.rank] = static_cast<double>(memory.peak.count);
    add(QObject::tr("peak memory"), peaks, figures);
    return figures;
}

std::vector<RankId> highestFirst(const RankFigure& figure) {
    auto values = figure.values;
    std::stable_sort(values.begin(), values.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<RankId> ranks;
    for (const auto& [rank, value] : values) ranks.push_back(rank);
    return ranks;
}

}  // namespace shardscope::desktop
