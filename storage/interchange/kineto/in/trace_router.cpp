#include "storage/interchange/kineto/in/trace_router.h"

#include "storage/interchange/decimal.h"

#include <algorithm>
#include <utility>

namespace shardscope::interchange::kineto {
namespace {

/// Events further from all others than this are strays, unless they are many.
constexpr std::int64_t kFarNs = std::int64_t{24} * 3600 * 1'000'000'000;
/// A lost time is written as 0, which may be nearer.
constexpr std::int64_t kFarFromZeroNs = std::int64_t{60} * 1'000'000'000;
/// One in so many may be a stray.
constexpr std::uint64_t kMostStrays = 10;

bool hasTime(const Event& event) {
    // Names of processes and threads are often given at time 0.
    return bare(event.phase) != "M" && !event.time.empty();
}

/// Of sorted times: the begin of the part without large gaps that most of them lie in. However many
/// are 0, they are none where others begin much later.
std::int64_t firstOf(std::vector<std::int64_t> times, bool keepsStrays) {
    if (times.empty()) return 0;
    const auto later = std::upper_bound(times.begin(), times.end(), 0);
    if (later != times.end() && *later > kFarFromZeroNs && times.front() >= 0)
        times.erase(times.begin(), later);
    if (keepsStrays) return times.front();
    std::size_t best = 0, bestCount = 0;
    for (std::size_t begin = 0; begin < times.size();) {
        std::size_t end = begin + 1;
        while (end < times.size() && times[end] - times[end - 1] <= kFarNs) ++end;
        if (end - begin > bestCount) best = begin, bestCount = end - begin;
        begin = end;
    }
    // Parts of about one size are parts of the trace.
    return (times.size() - bestCount) * kMostStrays > times.size() ? times.front() : times[best];
}

}  // namespace

TraceStart startOf(std::string_view window, const RankLayout* known, bool statesRank,
                   std::int64_t worldSize) {
    TraceStart start;
    std::vector<std::int64_t> times;
    LayoutSurvey survey;
    DeviceRows rows = known != nullptr ? known->rows : DeviceRows{};
    Event event;
    std::string_view rest = window;
    while (const std::size_t length = readEvent(rest, event)) {
        if (known == nullptr && bare(event.phase) == "M") rows.name(event);
        rest.remove_prefix(length);
    }
    while (const std::size_t length = readEvent(window, event)) {
        const auto time = hasTime(event) ? parseMicroseconds(bare(event.time)) : std::nullopt;
        if (time) times.push_back(time->value);
        if (known == nullptr) survey.add(event, categoryIn(event, rows));
        window.remove_prefix(length);
    }
    std::sort(times.begin(), times.end());
    start.layout =
        known != nullptr ? *known : survey.settle(std::move(rows), statesRank, worldSize);
    start.firstNs = firstOf(times, start.layout.keepsStrays);
    return start;
}

TraceRouter::TraceRouter(TraceBuilder& builder, ImportAccount& account, const Setting& setting,
                         RankLayout layout)
    : m_account(&account), m_setting(setting), m_layout(std::move(layout)) {
    for (std::uint32_t place = 0; place < m_layout.ranks.size(); ++place) {
        TraceMapper::Setting own;
        own.rank = rankAt(place);
        own.shiftNs = setting.shiftNs;
        own.firstStep = setting.firstStep;
        own.worldSize = m_layout.worldSize;
        own.rows = &m_layout.rows;
        own.sortsPairs = m_layout.sortsPairs;
        own.device = m_layout.ranks[place].device;
        own.hostMemory = setting.withoutDevices || own.device.empty();
        const std::uint32_t process = m_layout.ranks[place].first;
        if (process < place) own.operations = m_mappers[process].operations();
        for (std::uint32_t other = 0; other < m_layout.ranks.size(); ++other)
            if (other != place && m_layout.ranks[other].first == place)
                own.sameProcess.push_back(rankAt(other));
        m_mappers.emplace_back(builder, account, own);
    }
}

RankId TraceRouter::rankAt(std::uint32_t place) const {
    const std::uint32_t first = m_setting.rank.value;
    if (place == 0 || !m_layout.statesRank) return {first + place};
    // Behind all ranks of the world, which are of other files.
    return {static_cast<std::uint32_t>(m_layout.worldSize) * place + first};
}

bool TraceRouter::isStray(const Event& event) {
    if (!hasTime(event)) return false;
    const auto time = parseMicroseconds(bare(event.time));
    if (!time) return false;
    if (time->value == 0) return m_setting.firstNs > kFarFromZeroNs;
    if (m_layout.keepsStrays) return false;
    ++m_timed;
    const bool early = m_setting.firstNs - time->value > kFarNs;
    const bool late =
        m_latestNs != std::numeric_limits<std::int64_t>::min() && time->value - m_latestNs > kFarNs;
    if (early || late) {
        ++m_strays;
        return true;
    }
    m_latestNs = std::max(m_latestNs, time->value);
    return false;
}

std::uint32_t TraceRouter::placeOf(const Event& event, const Category& category) const {
    const std::string_view process = bare(event.process);
    const auto ofDevice = m_layout.ofDevice.find(process);
    const auto ofHost = m_layout.ofHost.find(process);
    const bool device =
        category.device || (ofHost == m_layout.ofHost.end() &&
                            ofDevice != m_layout.ofDevice.end() && bare(event.phase) != "X");
    if (device) return ofDevice == m_layout.ofDevice.end() ? 0 : ofDevice->second;
    return ofHost == m_layout.ofHost.end() ? 0 : ofHost->second;
}

std::uint32_t TraceRouter::placeOfMemory(const Event& event) const {
    const std::int64_t type = memoryDeviceType(event);
    if (type == kHostDeviceType) return placeOf(event, Category{});
    const auto at = m_layout.ofDevice.find(memoryDevice(event));
    return at == m_layout.ofDevice.end() ? 0 : at->second;
}

void TraceRouter::add(Event& event) {
    // JAX and TensorFlow end their traces with an empty object; there is nothing to lose in it.
    if (event.text == "{}") return;
    if (isStray(event)) {
        ++m_account->read;
        return m_account->reject("a time that is lost: 0, or more than a day from all others");
    }
    const std::string_view phase = bare(event.phase);
    const bool named = phase == "M";
    if (named) m_rows.name(event);
    const Category category = categoryIn(event, m_layout.rows);
    m_survey.add(event, category);
    if (m_layout.ranks.size() == 1) return m_mappers.front().add(event, category);
    const std::uint32_t place = isMemory(event) ? placeOfMemory(event) : placeOf(event, category);
    for (TraceMapper& mapper : m_mappers)
        if (named && &mapper != &m_mappers[place]) mapper.nameRow(event);
    m_mappers[place].add(event, category);
}

void TraceRouter::finish() {
    for (TraceMapper& mapper : m_mappers) mapper.finish();
}

RankLayout TraceRouter::found(bool statesRank, std::int64_t worldSize) const {
    RankLayout found = m_survey.settle(m_rows, statesRank, worldSize);
    found.sortsPairs = m_layout.sortsPairs ||
                       std::any_of(m_mappers.begin(), m_mappers.end(),
                                   [](const TraceMapper& each) { return each.hasDisorder(); });
    found.keepsStrays = m_layout.keepsStrays || m_strays * kMostStrays > m_timed;
    return found;
}

bool TraceRouter::isMisread(const RankLayout& found) const {
    if (found.sortsPairs != m_layout.sortsPairs) return true;
    if (found.keepsStrays != m_layout.keepsStrays || found.rows != m_layout.rows) return true;
    if (found.ranks.size() > 1 || m_layout.ranks.size() > 1) return found != m_layout;
    // Whether memory of the host is that of the rank depends on whether it has a device.
    return found.hasDevice(0) != m_layout.hasDevice(0) && !m_setting.withoutDevices &&
           m_mappers.front().hasHostMemory();
}

Timestamp TraceRouter::ended() const {
    Timestamp ended;
    for (const TraceMapper& mapper : m_mappers) ended = std::max(ended, mapper.ended());
    return ended;
}

}  // namespace shardscope::interchange::kineto
