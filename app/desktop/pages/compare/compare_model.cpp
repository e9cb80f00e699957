#include "app/desktop/pages/compare/compare_model.h"

#include "profiler/analysis/compare/run_figures.h"
#include "profiler/analysis/steps/ledger.h"
#include "profiler/questions/answer/cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::Difference;
using analysis::Verdict;
using questions::ComparedFigure;
using questions::Table;

constexpr const char* kStepTime = "step.time_ns";

struct KnownFigure {
    const char* key;
    const char* definition;
};
constexpr std::array kCards{
    KnownFigure{kStepTime,
                "From the first rank's beginning to the last one's end; median over the steps."},
    KnownFigure{"throughput.tokens_per_s",
                "Tokens of a step of all ranks over its time; median over the steps."},
    KnownFigure{"communication.exposed_ns",
                "Collective time per step that no compute of the rank hides, mean over the "
                "ranks; median over the steps."},
    KnownFigure{"communication.time_ns",
                "Union of the collectives per step, mean over the ranks; median over the steps."},
    KnownFigure{"memory.peak_bytes", "Most bytes alive at once on the rank that needs most."},
    KnownFigure{"loss.last_quarter",
                "Median of the losses of the last quarter of the steps, in nats."}};
constexpr const char* kSource =
    "\nWarm-up and steps with validation are left out. The interval is the middle 99.7 % of a "
    "block bootstrap over the steps.\nSource: shardscope compare.";

const ComparedFigure* findFigure(const ComparedFigures& figures, std::string_view key) {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [key](const ComparedFigure& each) { return each.key == key; });
    return found == figures.end() ? nullptr : &*found;
}

QString textOf(const ComparedFigure& figure, std::optional<double> value) {
    return cellText(questions::cell(value), figure.unit);
}

QString changeText(const Difference& difference) {
    if (!difference.change) return u"change unknown"_s;
    QString text = formatSignedPercent(*difference.change);
    const auto &low = difference.low, &high = difference.high;
    // of what is exact there is nothing between
    if (low && high && *low < *high)
        text += u", between %1 and %2"_s.arg(formatSignedPercent(*low), formatSignedPercent(*high));
    return text;
}

/// "12.1" and "ms" of "12.1 ms".
ValueText apart(const QString& text) {
    constexpr QChar kThinSpace{u'\u2009'};
    const qsizetype space = text.lastIndexOf(kThinSpace);
    if (space < 0) return {text, {}};
    return {text.left(space), text.mid(space + 1)};
}

QString verdictText(const Difference& difference) {
    const QString word =
        difference.isUnfounded() ? unknownText() : QString::fromLatin1(toWord(difference.verdict));
    const bool moved =
        difference.verdict == Verdict::kImproved || difference.verdict == Verdict::kRegressed;
    if (!moved) return word;
    const double change =
        difference.judged ? difference.judged->change : difference.change.value_or(0);
    return (change < 0 ? u"▼ "_s : u"▲ "_s) + word;
}

/// What the verdict rests on where that is not the recorded change.
QString groundsText(const Difference& difference) {
    if (difference.reason.empty()) return {};
    if (!difference.judged) return u" Unknown: %1."_s.arg(fromUtf8(difference.reason));
    return u" Judged by running time, %1 (between %2 and %3): %4."_s.arg(
        formatSignedPercent(difference.judged->change), formatSignedPercent(difference.judged->low),
        formatSignedPercent(difference.judged->high), fromUtf8(difference.reason));
}

QString capital(const std::string& words) {
    QString text = fromUtf8(words);
    text[0] = text[0].toUpper();
    return text;
}

CompareCard cardOf(const KnownFigure& known, const ComparedFigure& figure) {
    const Difference& difference = figure.difference;
    CompareCard card;
    card.key = QString::fromLatin1(known.key);
    card.title = capital(analysis::figureTitle(known.key));
    card.briefTitle = capital(analysis::briefFigureTitle(known.key));
    card.value = apart(textOf(figure, difference.second));
    card.before = textOf(figure, difference.first);
    // a number stays with its unit, or its x, where the line breaks
    card.change =
        changeText(difference).replace(u'\u2009', u'\u202F').replace(u"x "_s, u"x\u00A0"_s);
    card.verdict = verdictText(difference);
    if (difference.verdict == Verdict::kImproved) card.good = true;
    if (difference.verdict == Verdict::kRegressed) card.good = false;
    card.definition = QString::fromLatin1(known.definition) + QString::fromLatin1(kSource) +
                      groundsText(difference);
    return card;
}

std::optional<analysis::LedgerPart> partOfKey(std::string_view key) {
    constexpr std::string_view kPrefix = "ledger.";
    if (!key.starts_with(kPrefix)) return std::nullopt;
    key.remove_prefix(kPrefix.size());
    for (const analysis::LedgerPart part : kAll<analysis::LedgerPart>)
        if (key == analysis::toKey(part)) return part;
    return std::nullopt;  // sums of others
}

using analysis::LedgerPart;
using analysis::LedgerPiece;

/// More pieces than a bar has pixels: neighbours of less than a piece's share become one.
constexpr std::size_t kMostPieces = 2000;

QString partName(LedgerPart part) {
    return QString::fromLatin1(toWord(part));
}

BarSegment segmentOf(Duration time, LedgerPart part) {
    return {time.milliseconds(), meaningOf(part), partName(part), formatDuration(time)};
}

/// Of short neighbours: the part that most of it goes to, and that there are others.
BarSegment mixed(const std::map<LedgerPart, Duration>& parts) {
    const auto most =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    Duration all;
    for (const auto& [part, time] : parts) all += time;
    BarSegment segment = segmentOf(all, most->first);
    if (parts.size() > 1) segment.name += u" and %1 more"_s.arg(parts.size() - 1);
    return segment;
}

std::vector<BarSegment> segmentsOf(const questions::StepOfRank& step) {
    const bool many = step.pieces.size() > kMostPieces;
    const std::int64_t least =
        many ? step.step.range().duration().ns / static_cast<std::int64_t>(kMostPieces) : 0;
    std::vector<BarSegment> segments;
    std::map<LedgerPart, Duration> gathered;
    Duration together;
    const auto flush = [&] {
        if (!gathered.empty()) segments.push_back(mixed(gathered));
        gathered.clear();
        together = {};
    };
    for (const LedgerPiece& piece : step.pieces) {
        const Duration time = piece.range.duration();
        if (time.ns >= least) {
            flush();
            segments.push_back(segmentOf(time, piece.part));
            continue;
        }
        gathered[piece.part] += time;
        together += time;
        if (together.ns >= least) flush();
    }
    flush();
    return segments;
}

StackedBar barOf(std::size_t recording, const questions::StepOfRank& step) {
    StackedBar bar;
    bar.label = u"%1  rank %2"_s.arg(letterOf(recording)).arg(step.step.rank.value);
    bar.segments = segmentsOf(step);
    bar.total = bar.segments.empty() ? u"what it was spent on is not recorded"_s
                                     : formatDuration(step.step.range().duration());
    return bar;
}

}  // namespace

QString letterOf(std::size_t place) {
    return QString(QChar(static_cast<char16_t>(u'A' + place % 26)));
}

QString compareHeadline(const Comparison& comparison) {
    if (comparison.refused) return u"These recordings cannot be compared."_s;
    const ComparedFigure* step = findFigure(comparison.figures, kStepTime);
    const QString names =
        u"%1 against %2"_s.arg(comparison.recordings.back().name, comparison.recordings[0].name);
    if (step == nullptr || !step->difference.first || !step->difference.second)
        return u"%1: which is faster is unknown; one has no whole steps."_s.arg(names);
    const Difference& difference = step->difference;
    return u"A step takes %1 instead of %2: %3, %4.%5"_s.arg(
        textOf(*step, difference.second), textOf(*step, difference.first),
        difference.isUnfounded() ? u"no verdict"_s
                                 : QString::fromLatin1(toWord(difference.verdict)),
        changeText(difference), groundsText(difference));
}

QString compareSubline(const Comparison& comparison) {
    QStringList parts;
    const auto count = comparison.recordings.size();
    const QString last = u"%1, %2,"_s.arg(letterOf(count - 1), comparison.recordings.back().name);
    parts << (count == 2 ? u"%1 against A, %2."_s.arg(last, comparison.recordings[0].name)
                         : u"%1 against %2, whose steps are taken together."_s.arg(
                               last, baselineName(count)));
    if (!comparison.lossSentence.empty()) parts << fromUtf8(comparison.lossSentence);
    if (!comparison.query.selection.isEverything()) parts << u"Of the selection in each of them."_s;
    return parts.join(u' ');
}

std::vector<CompareCard> compareCards(const ComparedFigures& figures) {
    std::vector<CompareCard> cards;
    for (const KnownFigure& known : kCards)
        if (const ComparedFigure* figure = findFigure(figures, known.key))
            cards.push_back(cardOf(known, *figure));
    return cards;
}

std::vector<MirroredBar> mirroredLedger(const ComparedFigures& figures) {
    std::vector<MirroredBar> bars;
    for (const ComparedFigure& figure : figures) {
        const auto part = partOfKey(figure.key);
        if (!part) continue;
        const auto &first = figure.difference.first, &second = figure.difference.second;
        MirroredBar bar{QString::fromLatin1(toWord(*part)),
                        meaningOf(*part),
                        first.value_or(0) / 1e6,
                        second.value_or(0) / 1e6,
                        textOf(figure, first),
                        textOf(figure, second),
                        unknownText()};
        if (first && second) {
            const Duration apart{std::llround(*second - *first)};
            bar.difference = (apart.ns > 0 ? u"+"_s : QString()) + formatDuration(apart);
        }
        bars.push_back(std::move(bar));
    }
    std::stable_sort(bars.begin(), bars.end(), [](const auto& a, const auto& b) {
        return std::max(a.left, a.right) > std::max(b.left, b.right);
    });
    return bars;
}

std::vector<std::pair<const char*, QString>> differenceTables(const questions::Answer& answer) {
    std::vector<std::pair<const char*, QString>> found;
    for (const char* key : {"operators", "kernels", "collectives", "memory"})
        if (const Table* table = findTable(answer, key); table != nullptr && !table->rows.empty()) {
            QString name = QString::fromLatin1(key);
            name[0] = name[0].toUpper();
            found.emplace_back(key, name);
        }
    return found;
}

std::vector<LineSeries> lossSeries(const Comparison& comparison) {
    constexpr std::array kColours{Meaning::kCompute, Meaning::kGather, Meaning::kCopy,
                                  Meaning::kOtherCollective, Meaning::kHost};
    std::vector<LineSeries> lines;
    for (std::size_t i = 0; i < comparison.recordings.size(); ++i) {
        const ComparedRecording& each = comparison.recordings[i];
        const auto& points = each.curves.of("loss");
        if (points.isEmpty()) continue;
        lines.push_back(
            {u"%1 %2"_s.arg(letterOf(i), each.name), points, kColours[i % kColours.size()]});
    }
    return lines;
}

std::vector<ChartMark> lossMarks(const Comparison& comparison) {
    if (!comparison.losses.apart) return {};
    return {{static_cast<double>(comparison.losses.apart->value), u"apart beyond noise"_s, true}};
}

std::optional<StepIndex> medianStep(const Comparison& comparison, std::size_t place) {
    const auto& times = comparison.recordings[place].curves.times;
    if (times.isEmpty()) return std::nullopt;
    const bool isLast = place + 1 == comparison.recordings.size();
    const ComparedFigure* step = findFigure(comparison.figures, kStepTime);
    const auto median = step == nullptr ? std::nullopt
                        : isLast        ? step->difference.second
                                        : step->difference.first;
    if (!median) return StepIndex{static_cast<std::int32_t>(times.back().x())};
    const double wanted = *median / 1e6;
    const auto nearest =
        std::min_element(times.begin(), times.end(), [wanted](const QPointF& a, const QPointF& b) {
            return std::abs(a.y() - wanted) < std::abs(b.y() - wanted);
        });
    return StepIndex{static_cast<std::int32_t>(nearest->x())};
}

std::optional<StepSpan> stepsOf(const ComparedRecording& recording) {
    const auto& times = recording.curves.times;
    if (times.isEmpty()) return std::nullopt;
    return StepSpan{StepIndex{static_cast<std::int32_t>(times.front().x())},
                    StepIndex{static_cast<std::int32_t>(times.back().x())}};
}

StepBars stepBars(const std::vector<std::vector<questions::StepOfRank>>& steps) {
    std::set<RankId> ranks;
    for (const auto& recording : steps)
        for (const questions::StepOfRank& each : recording) ranks.insert(each.step.rank);
    StepBars made;
    for (const RankId rank : ranks)
        for (std::size_t i = 0; i < steps.size(); ++i)
            for (const questions::StepOfRank& each : steps[i]) {
                if (each.step.rank != rank) continue;
                made.bars.push_back(barOf(i, each));
                made.origins.push_back({i, each.step.step, rank});
            }
    return made;
}

std::vector<LegendEntry> stepLegend(const std::vector<std::vector<questions::StepOfRank>>& steps) {
    std::set<LedgerPart> parts;
    for (const auto& recording : steps)
        for (const questions::StepOfRank& each : recording)
            for (const LedgerPiece& piece : each.pieces) parts.insert(piece.part);
    std::vector<LegendEntry> entries;
    for (const LedgerPart part : parts) entries.push_back({partName(part), meaningOf(part), false});
    return entries;
}

}  // namespace shardscope::desktop
