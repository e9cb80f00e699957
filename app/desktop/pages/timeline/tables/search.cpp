#include "app/desktop/pages/timeline/tables/search.h"

#include "app/desktop/models/format.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <QObject>
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// So many are read in a few hundredths of a second.
constexpr std::uint64_t kEventsOfAPiece = 1'000'000;
constexpr std::int64_t kMostPieces = 256;

QRegularExpression patternOf(const QString& text) {
    return QRegularExpression(text, QRegularExpression::CaseInsensitiveOption);
}

bool hasSpans(const LaneFacts& lane) {
    return lane.role != LaneRole::kCounter;
}

bool comesFirst(const SearchHit& a, const SearchHit& b) {
    return std::tuple(a.span.start, a.key, a.span.depth) <
           std::tuple(b.span.start, b.key, b.span.depth);
}

}  // namespace

QString SearchText::error() const {
    if (!isPattern) return {};
    const QRegularExpression pattern = patternOf(text);
    return pattern.isValid() ? QString() : pattern.errorString();
}

TextMatcher::TextMatcher(const SearchText& search) : m_text(search.text) {
    if (!search.isPattern) return;
    m_pattern = patternOf(search.text);
    m_pattern->optimize();
}

bool TextMatcher::operator()(const QString& text) const {
    return m_pattern ? m_pattern->match(text).hasMatch()
                     : text.contains(m_text, Qt::CaseInsensitive);
}

Search::Search(const SearchText& text, const RecordingSummary& summary,
               const std::vector<RankId>& ranks, bool remote)
    : m_matches(text), m_bounds(summary.bounds), m_remote(remote) {
    std::vector<LaneAddress> lanes;
    for (const LaneFacts& lane : summary.lanes) {
        const bool wanted =
            ranks.empty() || std::find(ranks.begin(), ranks.end(), lane.rank) != ranks.end();
        if (wanted && hasSpans(lane)) lanes.push_back({lane.rank, lane.lane});
    }
    if (lanes.empty() || m_bounds.empty()) return;
    // as if events were spread evenly over the time of all lanes
    const std::int64_t parts = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(summary.events.total() / lanes.size() / kEventsOfAPiece), 1,
        kMostPieces);
    const std::int64_t length = m_bounds.duration().ns / parts + 1;
    for (const bool arguments : {false, true}) {
        if (arguments && remote) continue;
        for (const LaneAddress& key : lanes)
            for (std::int64_t i = 0; i < parts; ++i) {
                const Timestamp begin = m_bounds.begin + Duration{length * i};
                m_pieces.push_back({key, {begin, begin + Duration{length}}, arguments});
            }
    }
}

/// What the strings of a rank say, each once: names, and arguments of our own recordings.
Result<const Search::Strings*> Search::stringsOf(storage::RecordingReader& reader, RankId rank) {
    const auto [found, isNew] = m_strings.try_emplace(rank);
    if (!isNew) return &found->second;
    const auto read = storage::readStrings(reader, rank);
    if (!read) {
        m_strings.erase(found);
        return failure(read);
    }
    Strings& strings = found->second;
    for (const auto& [id, text] : read->texts) {
        strings.last = id;
        if (m_matches(fromUtf8(text))) strings.matching.push_back(id);
    }
    strings.known = {strings.matching.begin(), strings.matching.end()};
    strings.hasArguments = read->hasArguments;
    return &strings;
}

Result<SearchResultPtr> Search::searchOn(storage::RecordingReader& reader,
                                         const storage::Generation& generation,
                                         std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (m_next < m_pieces.size()) {
        if (generation.superseded())
            return failure(ErrorCode::kCancelled, "superseded by a newer request");
        if (auto done = searchPiece(reader, m_pieces[m_next]); !done) return failure(done);
        ++m_next;
        if (std::chrono::steady_clock::now() >= end) break;
    }
    return result();
}

Result<void> Search::searchPiece(storage::RecordingReader& reader, const Piece& piece) {
    const auto strings = stringsOf(reader, piece.key.rank);
    if (!strings) return failure(strings);
    const Strings& texts = **strings;
    if (!piece.arguments) {
        if (texts.matching.empty()) return {};
        const auto spans =
            reader.spansNaming(piece.key.rank, piece.key.lane, piece.range, texts.matching);
        if (!spans) return failure(spans);
        for (const SpanEvent& span : *spans)
            if (piece.range.contains(span.start))
                add(reader, piece, span, !texts.known.contains(span.name));
        return {};
    }
    if (!texts.hasArguments) return {};
    const auto spans = reader.spans(piece.key.rank, piece.key.lane, piece.range);
    if (!spans) return failure(spans);
    for (const SpanEvent& span : *spans)
        if (piece.range.contains(span.start) && span.arguments > texts.last &&
            !texts.known.contains(span.name) &&
            m_matches(fromUtf8(reader.text(piece.key.rank, span.arguments))))
            add(reader, piece, span, true);
    return {};
}

void Search::add(storage::RecordingReader& reader, const Piece& piece, const SpanEvent& span,
                 bool byArguments) {
    ++m_count;
    const double place = static_cast<double>((span.start - m_bounds.begin).ns) /
                         static_cast<double>(m_bounds.duration().ns) * kMoments;
    m_moments.set(std::min(static_cast<std::size_t>(std::max(0.0, place)), kMoments - 1));
    if (m_hits.size() < kMostHits)
        m_hits.push_back(
            {piece.key, span, fromUtf8(reader.text(piece.key.rank, span.name)), byArguments});
}

SearchResultPtr Search::result() const {
    auto result = std::make_shared<SearchResult>();
    result->count = m_count;
    result->hits = m_hits;
    std::sort(result->hits.begin(), result->hits.end(), comesFirst);
    const Duration step{m_bounds.duration().ns / static_cast<std::int64_t>(kMoments)};
    for (std::size_t i = 0; i < kMoments; ++i)
        if (m_moments.test(i))
            result->moments.push_back(
                m_bounds.begin + Duration{step.ns * static_cast<std::int64_t>(i) + step.ns / 2});
    result->done =
        m_pieces.empty() ? 1 : static_cast<double>(m_next) / static_cast<double>(m_pieces.size());
    result->argumentsLeftOut = m_remote;
    return result;
}

std::vector<TableColumn> foundColumns() {
    return {
        {QObject::tr("name"), {}, false, true, false, 200},
        {QObject::tr("rank"), {}, true, false, false, 64},
        {QObject::tr("lane"), {}, false, false, false, 200},
        {QObject::tr("start"), QObject::tr("on the recording's clock"), true, false, false, 120},
        {QObject::tr("duration"), {}, true, false, false, 96},
        {QObject::tr("found in"), QObject::tr("the name, or only the arguments"), false, false,
         true, 96}};
}

TableRows foundRows(const RecordingSummary& summary, const SearchResult& result) {
    std::map<LaneAddress, QString> lanes;
    for (const LaneFacts& lane : summary.lanes)
        lanes.emplace(LaneAddress{lane.rank, lane.lane}, fromUtf8(lane.name));
    TableRows rows;
    rows.reserve(result.hits.size());
    for (const SearchHit& hit : result.hits) {
        const Timestamp start = hit.span.start;
        rows.push_back({TableCell::ofText(hit.name),
                        TableCell::ofCount(hit.key.rank.value),
                        TableCell::ofText(lanes[hit.key]),
                        {formatInstant(start, {1000}),
                         {},
                         static_cast<double>(start.ns),
                         Meaning::kNone,
                         start},
                        TableCell::of(hit.span.duration),
                        TableCell::ofText(hit.byArguments ? u"arguments"_s : u"name"_s)});
    }
    return rows;
}

QString placeOf(const SearchHit& hit, const RecordingSummary& summary) {
    if (isApart(hit.span)) return QObject::tr("in calibration, before the first step");
    if (summary.steps.empty()) return {};
    const auto first =
        std::min_element(summary.steps.begin(), summary.steps.end(),
                         [](const StepFacts& a, const StepFacts& b) { return a.start < b.start; });
    return hit.span.start < first->start ? QObject::tr("before the first step") : QString();
}

QString foundCaption(const SearchResult& result) {
    const QString count = formatCount(static_cast<std::int64_t>(result.count));
    if (result.isCut())
        return u"%1 matches, the first %2 here: search for more, or fewer ranks"_s.arg(
            count, formatCount(static_cast<std::int64_t>(result.hits.size())));
    return result.count == 1 ? u"1 match"_s : u"%1 matches"_s.arg(count);
}

}  // namespace shardscope::desktop
