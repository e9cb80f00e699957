#include "app/desktop/models/format.h"
#include "app/desktop/pages/timeline/lanes/lane_groups.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/lanes/track_levels.h"
#include "app/desktop/pages/timeline/tracks/counter_lane.h"
#include "engine/run/config/rank_layout.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"

#include <QStringList>
#include <algorithm>
#include <optional>
#include <tuple>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kHeaderHeight = 22;
constexpr int kGroupHeight = 20;
constexpr int kSummaryHeight = 24;
constexpr int kLaneGap = 4;
constexpr int kInGroupGap = 1;
constexpr int kRankGap = 6;
constexpr int kGroupIndent = 12;
constexpr int kLevelHeight = 14;
constexpr int kTallHeight = 110;
/// Shown before it is known how deep a lane is.
constexpr int kUsualOperatorDepths = 3;

int rowHeight(const LaneRow& row) {
    if (row.kind == LaneRow::Kind::kTrack)
        return row.onDevice ? std::max(24, 16 * row.depths) : kLevelHeight * row.depths;
    switch (row.role) {
        case LaneRole::kRange:
            return 16 * row.depths;
        case LaneRole::kHost:
            return kLevelHeight * row.depths;
        case LaneRole::kCommunication:
            return row.depths > 1 ? 16 * row.depths : 24;
        case LaneRole::kRuntime:
        case LaneRole::kSync:
        case LaneRole::kCopy:
            return 16 * row.depths;
        case LaneRole::kCounter:
            return row.key.lane == kMemoryTotalLane ? 42 : 26;
        default:
            return row.depths > 1 ? 16 * row.depths : 24;
    }
}

const DeviceFacts* deviceOf(const RecordingSummary& summary, RankId rank) {
    const auto at = std::find_if(summary.devices.begin(), summary.devices.end(),
                                 [rank](const DeviceFacts& each) { return each.rank == rank; });
    return at != summary.devices.end() ? &*at : nullptr;
}

/// Theory knows nothing of memory outside the allocator: no line over a sum that holds it.
double theoryPeak(const RecordingSummary& summary, RankId rank, Lanes lanes) {
    for (const LaneFacts& lane : lanes)
        if (lane.lane == memoryLane(MemoryCategory::kOutside)) return 0;
    double sum = 0;
    for (const MemoryTheory& theory : summary.memoryTheory) {
        if (theory.rank == rank) sum += static_cast<double>(theory.size.count);
    }
    return sum;
}

/// Where a rank is; nothing where all are on one host.
QString hostNote(const RecordingSummary& summary, const RankFacts& rank) {
    if (summary.hosts.size() < 2) return {};
    for (const HostFacts& host : summary.hosts)
        if (host.host == rank.host && !host.name.empty())
            return u"on %1"_s.arg(fromUtf8(host.name));
    return {};
}

bool holds(const QString& text, const QString& filter) {
    return text.contains(filter, Qt::CaseInsensitive);
}

/// A rank without a device whose lanes are our own needs no groups.
bool isPlain(const RecordingSummary& summary, RankId rank, Lanes lanes) {
    if (deviceOf(summary, rank) != nullptr) return false;
    return std::none_of(lanes.begin(), lanes.end(), [](const LaneFacts& lane) {
        return isStreamLane(lane.lane) || lane.name.starts_with("thread ") ||
               (lane.name.find(": ") != std::string::npos && lane.role == LaneRole::kHost);
    });
}

/// Lays out one recording; `y` runs down over all ranks.
class Layouter {
public:
    Layouter(const RecordingSummary& summary, const LaneLayoutOptions& options, std::size_t ranks)
        : m_summary(summary), m_options(options) {
        m_thin = ranks > kMostFolded;
        if (const auto config = run::parseRunConfigJson(summary.run.configJson)) m_config = *config;
    }

    void addPinned() {
        std::vector<KnownLane> known;
        for (const LaneAddress& key : m_options.pinned) {
            const RankFacts* rank = rankFacts(key.rank);
            if (rank == nullptr || !showsRank(key.rank)) continue;
            for (const LaneFacts& lane : lanesOf(m_summary, key.rank))
                if (lane.lane == key.lane) known.push_back({&lane, identify(lane, *rank)});
        }
        LanesOfRow lanes;
        for (const KnownLane& lane : known) lanes.push_back(&lane);
        addRows(lanes, {}, true);
        m_layout.pinned = m_layout.rows.size();
        if (m_layout.pinned > 0) m_y += kRankGap;
        m_layout.pinnedHeight = m_y;
    }

    void addRank(const RankFacts& rank) {
        const Lanes lanes = lanesOf(m_summary, rank.rank);
        LaneRow header = headerOf(rank);
        const bool filtered = !m_options.filter.isEmpty();
        const bool all = filtered && holds(header.name, m_options.filter);
        if (header.collapsed && !filtered) return addFolded(std::move(header), lanes);
        header.collapsed = false;
        const std::size_t before = m_layout.rows.size();
        const int top = m_y;
        add(std::move(header), kHeaderHeight, 0);
        m_filter = all ? QString() : m_options.filter;
        if (isPlain(m_summary, rank.rank, lanes)) {
            addPlain(rank, lanes);
        } else {
            const std::vector<LaneAddress> parts = summaryOf(lanes);
            if (!filtered && parts.size() > 1) addSummary(parts, false, kSummaryHeight);
            const auto groups = groupsOf(rank, lanes, m_options);
            for (const LaneGroupOfRank& group : groups)
                addGroup(rank.rank, group, groups.size() == 1);
        }
        if (filtered && m_layout.rows.size() == before + 1) {
            m_layout.rows.pop_back();
            m_y = top;
            return;
        }
        m_y += kRankGap;
    }

    [[nodiscard]] bool showsRank(RankId rank) const {
        const auto& shown = m_options.ranks;
        return shown.empty() || std::find(shown.begin(), shown.end(), rank) != shown.end();
    }

    LaneLayout take() {
        m_layout.height = m_y;
        return std::move(m_layout);
    }

private:
    [[nodiscard]] const RankFacts* rankFacts(RankId rank) const {
        for (const RankFacts& each : m_summary.ranks)
            if (each.rank == rank) return &each;
        return nullptr;
    }

    [[nodiscard]] LaneRow headerOf(const RankFacts& rank) const {
        LaneRow header;
        header.kind = LaneRow::Kind::kHeader;
        header.key.rank = rank.rank;
        header.name = u"rank %1"_s.arg(rank.rank.value);
        header.collapsed = m_options.collapsed.contains(rank.rank);
        header.thin = header.collapsed && m_thin;
        header.note = hostNote(m_summary, rank);
        const DeviceFacts* device = deviceOf(m_summary, rank.rank);
        if (device == nullptr) return header;
        if (!header.note.isEmpty()) header.note += u" · "_s;
        header.note += fromUtf8(device->name);
        header.warns = device->sharedBy > 1;
        if (header.warns) header.note += u" · shared by %1 ranks"_s.arg(device->sharedBy);
        if (device->tracing.starts_with("not traced"))
            header.note += u" · "_s + fromUtf8(device->tracing);
        return header;
    }

    void add(LaneRow row, int height, int gap) {
        row.y = m_y;
        row.height = height;
        m_y += height + gap;
        m_layout.rows.push_back(std::move(row));
    }

    /// A folded rank is one row: its name, and what it does in short.
    void addFolded(LaneRow header, Lanes lanes) {
        const int height = m_thin ? m_options.thinHeight : kSummaryHeight;
        const int gap = m_thin ? 0 : kLaneGap;
        add(std::move(header), height, gap);
        const std::vector<LaneAddress> parts = summaryOf(lanes);
        if (parts.empty()) return;
        m_y -= height + gap;
        addSummary(parts, true, height);
        m_y += gap - kLaneGap;
    }

    void addSummary(const std::vector<LaneAddress>& parts, bool besideName, int height) {
        LaneRow row;
        row.kind = LaneRow::Kind::kSummary;
        row.key.rank = parts.front().rank;
        row.key.lane = LaneId{0xffff'ffff};
        row.role = LaneRole::kCompute;
        row.onDevice = isStreamLane(parts.front().lane);
        row.besideName = besideName;
        row.modelled = m_options.modelledLink;
        row.thin = besideName && m_thin;
        row.name = besideName ? QString() : u"summary"_s;
        row.parts = parts;
        add(std::move(row), height, kLaneGap);
    }

    [[nodiscard]] bool isPinned(LaneAddress key) const {
        const auto& pinned = m_options.pinned;
        return std::find(pinned.begin(), pinned.end(), key) != pinned.end();
    }

    [[nodiscard]] bool passes(const KnownLane& lane, const QString& group) const {
        if (m_options.hidden.contains(lane.key()) || isPinned(lane.key())) return false;
        return m_filter.isEmpty() || holds(group, m_filter) ||
               holds(lane.identity.name, m_filter) || holds(fromUtf8(lane.facts->name), m_filter);
    }

    /// Levels that are shown, and that there are.
    void setDepths(LaneRow& row) const {
        const bool track = row.kind == LaneRow::Kind::kTrack;
        const auto& known = track ? m_options.trackDepths : m_options.depths;
        const auto seen = known.find(row.key);
        row.allDepths = seen != known.end() ? std::max(1, seen->second)
                        : track             ? usualTrackDepths(row)
                                            : usualDepths(row);
        row.depths = m_options.expanded.contains(row.key)
                         ? row.allDepths
                         : std::min(row.allDepths, row.firstDepths());
    }

    [[nodiscard]] static int usualTrackDepths(const LaneRow& row) {
        const auto annotations = static_cast<int>(
            std::count(row.contents.begin(), row.contents.end(), LaneContent::kAnnotations));
        if (row.onDevice) return annotations + 1;
        return static_cast<int>(row.parts.size()) + kUsualOperatorDepths - 1;
    }

    [[nodiscard]] int usualDepths(const LaneRow& row) const {
        int usual = 1;
        if (row.role == LaneRole::kHost) usual = kUsualOperatorDepths;
        // Steps, and their stretches below.
        if (row.role == LaneRole::kRange) usual = 2;
        // Of ranks on several hosts: collectives, and what was between and inside hosts below.
        if (row.role == LaneRole::kCommunication && !row.onDevice && m_summary.hosts.size() > 1)
            usual = 2;
        return usual;
    }

    [[nodiscard]] QString nameOf(const KnownLane& lane, bool alone) const {
        const std::uint32_t group = communicationGroup(*lane.facts);
        if (group != 0) {
            std::vector<RankId> members;
            for (const LaneFacts& other : m_summary.lanes)
                if (other.name == lane.facts->name) members.push_back(other.rank);
            if (!m_config)
                return u"communication · %1 of group %2"_s.arg(rankList(members)).arg(group);
            const auto kind = run::groupKindOf(*m_config, group);
            return u"communication · %1 group, %2"_s.arg(fromUtf8(toWord(kind)), rankList(members));
        }
        if (!alone) return lane.identity.name;
        const QString group_ = lane.identity.groupName;
        return u"rank %1 · %2%3"_s.arg(lane.facts->rank.value)
            .arg(group_.isEmpty() ? QString() : group_ + u" · "_s, lane.identity.name);
    }

    void addLane(const KnownLane& lane, const QString& group, bool pinned) {
        LaneRow row;
        row.key = lane.key();
        row.role = lane.facts->role;
        row.content = lane.identity.content;
        row.group = group;
        row.pinned = pinned;
        row.onDevice = isStreamLane(row.key.lane);
        row.modelled = m_options.modelledLink && row.role == LaneRole::kCommunication;
        row.name = nameOf(lane, pinned);
        row.unit = counterUnit(row.name, fromUtf8(lane.facts->unit));
        if (row.role == LaneRole::kCounter) row.name = counterName(row.name, row.unit);
        row.indent = group.isEmpty() ? 0 : kGroupIndent;
        row.kind = row.role == LaneRole::kCounter ? LaneRow::Kind::kCounter : LaneRow::Kind::kSpans;
        setDepths(row);
        if (row.key.lane == kMemoryTotalLane)
            row.theoryBytes = theoryPeak(m_summary, row.key.rank, lanesOf(m_summary, row.key.rank));
        const int height = m_options.tall.contains(row.key) ? kTallHeight : rowHeight(row);
        const bool apart = group.isEmpty() || row.role == LaneRole::kCounter;
        add(std::move(row), height, apart ? kLaneGap : kInGroupGap);
    }

    void addTrack(const LanesOfRow& lanes, const QString& group, bool pinned) {
        const KnownLane& first = *lanes.front();
        LaneRow row;
        row.kind = LaneRow::Kind::kTrack;
        row.key = first.key();
        row.role = first.facts->role;
        row.group = group;
        row.pinned = pinned;
        row.modelled = m_options.modelledLink;
        QStringList names;
        for (const KnownLane* lane : lanes) {
            row.parts.push_back(lane->key());
            row.onDevice = row.onDevice || isStreamLane(lane->facts->lane);
            row.contents.push_back(lane->identity.content);
            names << lane->identity.name;
        }
        row.name = pinned ? u"rank %1 · %2"_s.arg(row.key.rank.value).arg(first.identity.groupName)
                          : names.join(u", "_s);
        row.indent = group.isEmpty() ? 0 : kGroupIndent;
        setDepths(row);
        const int height = rowHeight(row);
        add(std::move(row), height, group.isEmpty() ? kLaneGap : kInGroupGap);
    }

    /// Of one group, or pinned: as rows of a lane or a track.
    void addRows(const LanesOfRow& lanes, const QString& group, bool pinned) {
        for (const LanesOfRow& row : rowsOf(lanes, m_options.nested))
            if (row.size() == 1)
                addLane(*row.front(), group, pinned);
            else
                addTrack(row, group, pinned);
    }

    void addPlain(const RankFacts& rank, Lanes lanes) {
        LaneGroupOfRank all;
        for (const LaneFacts& lane : lanes) {
            if (!isShown(lane)) continue;
            all.lanes.push_back({&lane, identify(lane, rank)});
            if (lane.role != LaneRole::kCounter)
                all.lanes.back().identity.name = fromUtf8(lane.name);
        }
        if (const auto moved = m_options.order.find({rank.rank, QString()});
            moved != m_options.order.end())
            sortLanes(all, &moved->second);
        for (const KnownLane& lane : all.lanes)
            if (passes(lane, {})) addLane(lane, {}, false);
    }

    void addGroup(RankId rank, const LaneGroupOfRank& group, bool alone) {
        LanesOfRow shown;
        for (const KnownLane& lane : group.lanes)
            if (passes(lane, group.name)) shown.push_back(&lane);
        if (shown.empty()) return;
        if (group.section != LaneSection::kEngine) {
            LaneRow header;
            header.kind = LaneRow::Kind::kGroup;
            header.key.rank = rank;
            header.group = group.key;
            header.name = group.name;
            header.collapsed =
                m_options.filter.isEmpty() && isFolded(m_options, rank, group, alone);
            const bool folded = header.collapsed;
            add(std::move(header), kGroupHeight, 0);
            if (folded) return;
        }
        addRows(shown, group.key, false);
        if (!group.key.isEmpty()) m_y += kLaneGap;
    }

    std::optional<run::RunConfig> m_config;  ///< of a training of our own
    const RecordingSummary& m_summary;
    const LaneLayoutOptions& m_options;
    LaneLayout m_layout;
    QString m_filter;  ///< of the rank that is being laid out
    bool m_thin = false;
    int m_y = 0;
};

/// Ranks in the order in which they are shown.
std::vector<const RankFacts*> shownRanks(const RecordingSummary& summary,
                                         const LaneLayoutOptions& options,
                                         const Layouter& layouter) {
    std::map<RankId, std::size_t> places;
    for (const RankId rank : options.rankOrder) places.try_emplace(rank, places.size());
    std::vector<const RankFacts*> ranks;
    for (const RankFacts& rank : summary.ranks)
        if (layouter.showsRank(rank.rank)) ranks.push_back(&rank);
    const auto placeOf = [&](const RankFacts* rank) {
        const auto at = places.find(rank->rank);
        return at != places.end() ? at->second : places.size();
    };
    if (!places.empty())
        std::stable_sort(ranks.begin(), ranks.end(), [&](const RankFacts* a, const RankFacts* b) {
            return placeOf(a) < placeOf(b);
        });
    return ranks;
}

}  // namespace

LaneLayoutOptions firstOptions(const RecordingSummary& summary) {
    LaneLayoutOptions options;
    if (summary.ranks.size() > kMostUnfolded)
        for (const RankFacts& rank : summary.ranks) options.collapsed.insert(rank.rank);
    return options;
}

LaneLayout layOutLanes(const RecordingSummary& summary, const LaneLayoutOptions& options) {
    const std::size_t all = options.ranks.empty() ? summary.ranks.size() : options.ranks.size();
    Layouter layouter(summary, options, all);
    layouter.addPinned();
    for (const RankFacts* rank : shownRanks(summary, options, layouter)) layouter.addRank(*rank);
    return layouter.take();
}

LaneLayoutOptions revealing(const RecordingSummary& summary, LaneLayoutOptions options,
                            LaneAddress key) {
    options.collapsed.erase(key.rank);
    options.hidden.erase(key);
    options.filter.clear();
    for (const RankFacts& rank : summary.ranks) {
        if (rank.rank != key.rank) continue;
        const auto groups = groupsOf(rank, lanesOf(summary, key.rank), options);
        for (const LaneGroupOfRank& group : groups) {
            const bool isIn = std::any_of(group.lanes.begin(), group.lanes.end(),
                                          [&](const KnownLane& lane) { return lane.key() == key; });
            if (!isIn || !isFolded(options, key.rank, group, groups.size() == 1)) continue;
            const GroupAddress address{key.rank, group.key};
            if (!options.toggled.insert(address).second) options.toggled.erase(address);
        }
    }
    return options;
}

}  // namespace shardscope::desktop
