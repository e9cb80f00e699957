#include "app/desktop/pages/communication/collective_table.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/ledger_view.h"
#include "app/desktop/pages/communication/layer_columns.h"
#include "storage/model/rank_facts.h"

#include <QObject>
#include <QStringList>
#include <algorithm>
#include <map>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::Transfer;

constexpr int kNumber = 72, kRate = 84, kGroupWidth = 112;
constexpr std::size_t kNamedMembers = 3;

QString untimed() {
    return u"Not every rank of the group is recorded, or selected: waiting and transfer time "
           u"cannot be separated."_s;
}

TableCell numberCell(std::int64_t value) {
    TableCell cell{QString::number(value), {}, static_cast<double>(value), Meaning::kNone};
    cell.exact = value;
    return cell;
}

TableCell rateCell(const std::optional<double>& rate, const Transfer& transfer) {
    if (!rate)
        return TableCell::unknown(transfer.size == kUnknownSize
                                      ? u"The recording does not say its size."_s
                                  : transfer.transfer ? u"It moves no data, or in no time."_s
                                                      : untimed());
    TableCell cell{formatSi(*rate, u"B/s"_s), {}, *rate, Meaning::kNone};
    cell.exact = *rate;
    return cell;
}

TableCell durationOr(const std::optional<Duration>& duration, const QString& why) {
    return duration ? TableCell::of(*duration) : TableCell::unknown(why);
}

TableCell stepCellOf(StepIndex step) {
    return step == kNoStep ? TableCell::unknown(u"It belongs to no step."_s)
                           : numberCell(step.value);
}

class Groups {
public:
    explicit Groups(const CommunicationFrame& frame)
        : m_groups(frame.communication.groups),
          m_world(frame.part->recording->summary.ranks.size()) {}
    TableCell cell(std::uint32_t group) {
        const auto [found, fresh] = m_cells.try_emplace(group);
        if (fresh) {
            const auto members = m_groups.find(group);
            const auto& who = members == m_groups.end() ? m_nobody : members->second;
            found->second = TableCell::ofText(groupText(who, group, m_world));
            found->second.tip = allMembersText(who);
        }
        return found->second;
    }

private:
    const std::map<std::uint32_t, std::vector<RankId>>& m_groups;
    std::size_t m_world;
    std::vector<RankId> m_nobody;
    std::map<std::uint32_t, TableCell> m_cells;
};

std::vector<TableCell> rowOf(const Transfer& transfer, TableCell group) {
    const QString noArrivals =
        u"The arrival times of its ranks are unknown, or differ by less than the "
        u"uncertainty of the hosts' clocks."_s;
    TableCell layer = TableCell::ofText(formatLayer(transfer.layer));
    layer.sortKey = static_cast<double>(transfer.layer.value);
    TableCell sequence = numberCell(static_cast<std::int64_t>(transfer.sequence));
    sequence.tip = u"first start at %1"_s.arg(formatInstant(transfer.range.begin, {1'000}));
    return {TableCell::ofText(QString::fromLatin1(toWord(transfer.operation)),
                              meaningOf(transfer.operation)),
            std::move(layer),
            stepCellOf(transfer.step),
            std::move(sequence),
            std::move(group),
            transfer.size == kUnknownSize
                ? TableCell::unknown(u"The recording does not say its size."_s)
                : TableCell::of(transfer.size),
            TableCell::of(transfer.range.duration()),
            transfer.transfer ? TableCell::of(transfer.waited) : TableCell::unknown(untimed()),
            durationOr(transfer.transfer, untimed()),
            durationOr(transfer.skew, noArrivals),
            transfer.late ? numberCell(transfer.late->value) : TableCell::unknown(noArrivals),
            rateCell(transfer.algorithmBandwidth(), transfer),
            rateCell(transfer.busBandwidth(), transfer)};
}

bool has(const std::vector<TableCell>& row, const QStringList& words) {
    return std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return std::any_of(row.begin(), row.end(), [&](const TableCell& cell) {
            return cell.text.contains(word, Qt::CaseInsensitive);
        });
    });
}

}  // namespace

std::vector<TableColumn> collectiveColumns() {
    return {
        {QObject::tr("operation"), {}, false, false, false, 128},
        {QObject::tr("layer"), {}, false, false, false, 144},
        {QObject::tr("step"), {}, true, false, false, 48},
        {QObject::tr("sequence"),
         QObject::tr("Number of the collective in its group, the same on every rank."), true, false,
         false, 80},
        {QObject::tr("group"), QObject::tr("Ranks that take part."), false, false, false,
         kGroupWidth},
        {QObject::tr("size"),
         QObject::tr("Whole payload: gathered size, or size before reduction."), true, false, false,
         kNumber},
        {QObject::tr("duration"), QObject::tr("From the first start on any rank to the last end."),
         true, false, false, kNumber},
        {QObject::tr("waiting"), QObject::tr("Before the last rank arrived, all ranks together."),
         true, false, false, kNumber},
        {QObject::tr("transfer"),
         QObject::tr(
             "For how long data moved: the shortest over the ranks from the last arrival to the "
             "end."),
         true, false, false, kNumber},
        {QObject::tr("skew"), QObject::tr("From the first arrival to the last."), true, false,
         false, kNumber},
        {QObject::tr("late rank"), QObject::tr("The last to arrive."), true, false, false, kNumber},
        {QObject::tr("algorithm"), QObject::tr("Algorithm bandwidth: size / transfer."), true,
         false, false, kRate},
        {QObject::tr("bus"),
         QObject::tr(
             "Bus bandwidth: algorithm bandwidth × 2 (n − 1) / n for all-reduce, (n − 1) / n for "
             "all-gather, reduce-scatter and all-to-all, 1 for broadcast."),
         true, false, false, kRate}};
}

CollectiveTable collectiveTable(const CommunicationFrame& frame,
                                std::optional<analysis::ExposureKind> chosen,
                                const QString& filter) {
    CollectiveTable table;
    table.columns = collectiveColumns();
    Groups groups(frame);
    const QStringList words = filter.split(u' ', Qt::SkipEmptyParts);
    for (const std::size_t place : frame.longestFirst) {
        const Transfer& transfer = frame.communication.transfers[place];
        // what bars stand for: collectives of steps
        if (chosen && (transfer.step == kNoStep ||
                       *chosen != analysis::ExposureKind{transfer.layer, transfer.operation}))
            continue;
        if (words.isEmpty() && table.rows.size() >= kMostCollectives) {
            ++table.all;
            continue;
        }
        auto row = rowOf(transfer, groups.cell(transfer.group));
        if (!has(row, words)) continue;
        ++table.all;
        if (table.rows.size() >= kMostCollectives) continue;
        table.rows.push_back(std::move(row));
        table.transfers.push_back(place);
    }
    return table;
}

QString collectiveCaption(const CollectiveTable& table) {
    const auto shown = static_cast<std::int64_t>(table.rows.size());
    const auto all = static_cast<std::int64_t>(table.all);
    if (shown < all)
        return u"%1 of %2 collectives, those with the longest transfers"_s.arg(formatCount(shown),
                                                                               formatCount(all));
    return all == 1 ? u"1 collective"_s : u"%1 collectives"_s.arg(formatCount(all));
}

QString groupText(const std::vector<RankId>& members, std::uint32_t group, std::size_t world) {
    if (members.empty()) return u"group %1"_s.arg(group);
    // a group has at least two ranks: its other ranks are not recorded, or not selected
    if (members.size() == 1) return u"rank %1 and others"_s.arg(members.front().value);
    if (members.size() == world)
        return u"all %1 ranks"_s.arg(formatCount(static_cast<std::int64_t>(world)));
    QStringList names;
    for (std::size_t i = 0; i < std::min(kNamedMembers, members.size()); ++i)
        names << QString::number(members[i].value);
    if (members.size() > kNamedMembers) names << u"…"_s;
    return u"ranks %1"_s.arg(names.join(u", "_s));
}

QString allMembersText(const std::vector<RankId>& members) {
    QStringList names;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t first = members[i].value;
        while (i + 1 < members.size() && members[i + 1].value == members[i].value + 1) ++i;
        const std::uint32_t last = members[i].value;
        names << (last == first ? QString::number(first) : u"%1–%2"_s.arg(first).arg(last));
    }
    if (names.isEmpty()) return u"no rank of it is selected"_s;
    if (members.size() == 1)
        return u"rank %1; its other ranks are not recorded, or not selected"_s.arg(names.front());
    return u"ranks %1"_s.arg(names.join(u", "_s));
}

std::vector<TableColumn> skewColumns() {
    return {
        {QObject::tr("rank"), {}, false, false, false, 80},
        {QObject::tr("last"), QObject::tr("Collectives of steps to which it came last."), true,
         false, false, 72},
        {QObject::tr("of all"), QObject::tr("Of those where it is known."), true, false, false, 64},
        {QObject::tr("by"), QObject::tr("Median from the first arrival to its own."), true, false,
         false, 72},
        {QObject::tr("at most"), QObject::tr("The longest of them."), true, false, false, 72},
        {QObject::tr("others waited"),
         QObject::tr("For it, all other ranks together, behind compute too; Findings and "
                     "`analyze late` count blocked step threads in steady steps."),
         true, false, false, 104}};
}

TableRows skewRows(const analysis::ArrivalSkew& skew) {
    TableRows rows;
    for (const analysis::LastComer& comer : skew.ranks) {
        if (rows.size() >= kMostLastComers) break;
        const Share ofAll{static_cast<double>(comer.collectives) /
                          static_cast<double>(std::max<std::int64_t>(1, skew.known))};
        TableCell rank = numberCell(comer.rank.value);
        rank.text = u"rank %1"_s.arg(comer.rank.value);
        rows.push_back({std::move(rank), TableCell::ofCount(comer.collectives),
                        TableCell::of(ofAll), TableCell::of(comer.median),
                        TableCell::of(comer.longest), TableCell::of(comer.waited)});
    }
    return rows;
}

std::vector<TableColumn> reasonColumns() {
    return {{QObject::tr("why"), {}, false, false, false, 124},
            {QObject::tr("exposed"),
             QObject::tr("Time of these collectives that no compute hides, on all ranks."), true,
             false, false, 68},
            {QObject::tr("share"), QObject::tr("Of all that is exposed."), true, false, false, 76},
            {QObject::tr("count"), QObject::tr("Collectives; each counts on every rank."), true,
             false, false, 60}};
}

TableRows reasonRows(const std::vector<analysis::ReasonSum>& reasons) {
    Duration exposed;
    for (const analysis::ReasonSum& sum : reasons) exposed += sum.exposed;
    TableRows rows;
    for (const analysis::ReasonSum& sum : reasons) {
        if (sum.exposed.ns == 0) continue;
        const bool small = sum.reason == analysis::ExposureReason::kNone;
        const auto* words = entryOf(sum.reason);
        TableCell why =
            TableCell::ofText(small ? u"nearly hidden"_s : QString::fromUtf8(words->word));
        why.tip = small ? u"Of each less than %1 of its time is exposed."_s.arg(
                              formatPercent(analysis::kLeastExposed))
                        : QString::fromUtf8(words->definition);
        rows.push_back({std::move(why), TableCell::of(sum.exposed),
                        TableCell::of(Share{share(sum.exposed, exposed)}),
                        TableCell::ofCount(sum.count)});
    }
    return rows;
}

TimeRange rangeAround(const Transfer& transfer, TimeRange bounds) {
    const Duration margin{std::max<std::int64_t>(transfer.range.duration().ns / 10, 1'000)};
    return TimeRange{transfer.range.begin - margin, transfer.range.end + margin}.intersection(
        bounds);
}

}  // namespace shardscope::desktop
