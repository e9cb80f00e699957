#include "app/desktop/pages/efficiency/efficiency_model.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/training_figures.h"

#include <QObject>
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using questions::Answer;
using questions::Cell;
using questions::Table;

constexpr const char* kFirstVariant = "palm";

std::optional<double> numberIn(const Cell& cell) {
    if (const auto* real = cell.real()) return *real;
    if (const auto* whole = cell.integer()) return static_cast<double>(*whole);
    return std::nullopt;
}

QString textIn(const Cell& cell) {
    const std::string* text = cell.text();
    return text != nullptr ? fromUtf8(*text) : QString();
}

const Cell& at(const Table& table, const std::vector<Cell>& row, const char* key) {
    return row[table.columnAt(key)];
}

const questions::Figure* findFigure(const Answer& answer, std::string_view key) {
    for (const questions::Figure& figure : answer.figures)
        if (figure.what.key == key && !figure.value.isNone()) return &figure;
    return nullptr;
}

/// Whether what the peak is was found on the machine, in a word.
QString peakWord(const EfficiencyFrame& frame) {
    const analysis::Mfu& mfu = frame.part->report->mfu;
    if (mfu.unsure) return QObject::tr("measured, not reliable");
    const QString source = fromUtf8(mfu.peakSource);
    if (source.startsWith(u"measured"_s)) return QObject::tr("measured");
    const Table* peaks = findTable(frame.answer, "peaks");
    if (peaks != nullptr && !peaks->rows.empty() &&
        at(*peaks, peaks->rows[0], "peak_flops") == at(*peaks, peaks->rows[0], "vendor_flops"))
        return QObject::tr("the vendor's peak");
    return source;
}

/// "50.6 of 203 GFLOP/s"; units that differ stand at both.
QString ofPeak(double reached, double peak) {
    const ValueText one = siText(reached, u"FLOP/s"_s), all = siText(peak, u"FLOP/s"_s);
    return QObject::tr("%1 of %2")
        .arg(one.unit == all.unit ? one.number : one.joined(), all.joined());
}

}  // namespace

std::vector<MfuVariant> mfuVariants(const Answer& answer) {
    std::vector<MfuVariant> variants;
    const Table* table = findTable(answer, "variants");
    if (table == nullptr) return variants;
    for (const auto& row : table->rows) {
        MfuVariant each{textIn(at(*table, row, "variant")),
                        numberIn(at(*table, row, "flops_per_token")).value_or(0),
                        numberIn(at(*table, row, "flops_per_s")).value_or(0),
                        numberIn(at(*table, row, "mfu_pct"))};
        if (each.mfu) *each.mfu /= 100;
        variants.push_back(std::move(each));
    }
    return variants;
}

const MfuVariant* findVariant(const std::vector<MfuVariant>& variants, const QString& word) {
    const auto named = [&](const QString& wanted) {
        return std::find_if(variants.begin(), variants.end(),
                            [&](const MfuVariant& each) { return each.word == wanted; });
    };
    auto found = named(word);
    if (found == variants.end()) found = named(QLatin1StringView(kFirstVariant));
    // Programs that are not ours are counted in other ways, the best one first.
    if (found == variants.end()) found = variants.begin();
    return found == variants.end() ? nullptr : &*found;
}

QString efficiencyHeadline(const EfficiencyFrame& frame, const QString& word) {
    if (!frame.part->refusal.isEmpty()) return frame.part->refusal;
    const auto variants = mfuVariants(frame.answer);
    const analysis::Mfu& mfu = frame.part->report->mfu;
    const MfuVariant* variant = findVariant(variants, word);
    if (variant != nullptr && variant->mfu && mfu.peakFlops)
        return QObject::tr("%1 MFU (%2): %3, %4")
            .arg(formatPercent(*variant->mfu), variantName(variant->word),
                 ofPeak(variant->flopsPerSecond, *mfu.peakFlops), peakWord(frame));
    const QString why =
        mfu.reason.empty() ? QObject::tr("FLOPs are not known") : fromUtf8(mfu.reason);
    if (variant != nullptr)
        return QObject::tr("%1 (%2); MFU unknown: %3")
            .arg(formatSi(variant->flopsPerSecond, u"FLOP/s"_s), variantName(variant->word), why);
    return QObject::tr("MFU unknown: %1").arg(why);
}

QString efficiencySubline(const EfficiencyFrame& frame, const QString& word,
                          const Targets& targets) {
    QStringList parts;
    const auto variants = mfuVariants(frame.answer);
    const MfuVariant* variant = findVariant(variants, word);
    if (variant != nullptr && variant->mfu) {
        const bool unsure = frame.part->report->mfu.unsure || isUnsure(*frame.part->report);
        parts << QObject::tr("Target: %1.")
                     .arg(unsure ? unsureWord() : atLeast(*variant->mfu, targets.mfu).text);
    }
    for (const char* key : {"hfu_pct", "measured_peak_pct", "goodput_pct"})
        if (const questions::Figure* figure = findFigure(frame.answer, key))
            parts << QObject::tr("%1: %2.").arg(QLatin1StringView(figure->what.title),
                                                cellText(figure->value, figure->what.unit));
    for (const std::string& sentence : frame.answer.sentences) parts << fromUtf8(sentence);
    return parts.join(u' ');
}

bool hasEfficiency(const EfficiencyFrame& frame) {
    return std::any_of(frame.answer.tables.begin(), frame.answer.tables.end(),
                       [](const Table& table) { return !table.rows.empty(); });
}

QString missingEfficiency(const EfficiencyFrame& frame) {
    if (!frame.part->refusal.isEmpty()) return frame.part->refusal;
    return unknownSentences(frame.answer, frame.answer.unknown.size());
}

QStringList otherUnknown(const EfficiencyFrame& frame, const QString& headline) {
    if (!frame.part->refusal.isEmpty()) return {frame.part->refusal};
    QStringList sentences;
    for (const std::string& each : frame.answer.unknown) {
        QString sentence = fromUtf8(each);
        if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
        if (!headline.contains(sentence)) sentences << sentence + u'.';
    }
    return sentences;
}

QVector<QPointF> mfuBySteps(const EfficiencyFrame& frame, const QString& word) {
    const auto variants = mfuVariants(frame.answer);
    const MfuVariant* variant = findVariant(variants, word);
    const MfuVariant* palm = findVariant(variants, QLatin1StringView(kFirstVariant));
    if (variant == nullptr || palm == nullptr) return {};
    if (palm->word != QLatin1StringView(kFirstVariant)) {
        QVector<QPointF> counted =  // of a program, by one way alone
            variant->word == fromUtf8(frame.part->report->mfu.variant) ? mfuCurve(*frame.part)
                                                                       : QVector<QPointF>();
        for (QPointF& point : counted) point.ry() *= 100;
        return counted;
    }
    // the curve is palm's, and FLOPs of a step are in proportion to those of a token
    if (palm->flopsPerToken <= 0) return {};
    QVector<QPointF> points = mfuCurve(*frame.part);
    for (QPointF& point : points) point.ry() *= 100 * variant->flopsPerToken / palm->flopsPerToken;
    return points;
}

namespace {

/// Before the blocks stand what is of all of them, and the head.
QString groupLabel(const QString& phase, const Cell& layer) {
    if (!layer.isNone()) return cellText(layer, questions::Unit::kNone);
    return phase == QLatin1StringView(toWord(Phase::kHead)) ? QObject::tr("head")
                                                            : QObject::tr("all blocks");
}

/// What runs a block's products the first time, or again, is paler than what goes back.
bool isPale(const QString& phase) {
    return phase == QLatin1StringView(toWord(Phase::kForward)) ||
           phase == QLatin1StringView(toWord(Phase::kRecompute));
}

QString partName(const QString& phase, const Cell& layer) {
    if (phase == QLatin1StringView(toWord(Phase::kHead))) return phase;
    return layer.isNone()
               ? QObject::tr("%1, all blocks").arg(phase)
               : QObject::tr("%1, block %2").arg(phase, cellText(layer, questions::Unit::kNone));
}

/// The largest stands for the unit of all.
ValueText scaleOf(const Table& table, std::optional<double> peak, double& perUnit) {
    double highest = peak.value_or(0);
    for (const auto& row : table.rows)
        highest = std::max(highest, numberIn(at(table, row, "flops_per_s")).value_or(0));
    perUnit = 1;
    for (double step = 1e3; highest >= step && step < 1e16; step *= 1e3) perUnit = step;
    return siText(perUnit, u"FLOP/s"_s);
}

/// Of a rank: what shares are of.
std::optional<double> peakOfRank(const Table& table) {
    for (const auto& row : table.rows) {
        const auto speed = numberIn(at(table, row, "flops_per_s"));
        const auto share = numberIn(at(table, row, "peak_pct"));
        if (speed && share && *share > 0) return *speed / *share * 100;
    }
    return std::nullopt;
}

QString partNote(const Table& table, bool peakKnown) {
    QStringList notes;
    notes << QObject::tr(
        "Matrix products / time of the phase, per rank, mean. Click a column for "
        "its ranks, and a rank's row to select the rank.");
    if (!peakKnown) notes << QObject::tr("The peak is not known.");
    const bool beyond = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
        return numberIn(at(table, row, "peak_pct")).value_or(0) > 100;
    });
    if (beyond)
        notes << QObject::tr(
            "More than 100 % of the peak: a rank's peak is its part of what all "
            "reach together, and ranks that take turns on the same cores have "
            "more of them for a while.");
    return notes.join(u' ');
}

}  // namespace

PartColumns partColumns(const Answer& answer, const std::optional<PartColumns::Part>& chosen) {
    PartColumns shown;
    const Table* table = findTable(answer, "all_parts");
    if (table == nullptr || table->rows.empty()) return shown;
    const auto peak = peakOfRank(*table);
    double perUnit = 1;
    shown.unit = scaleOf(*table, peak, perUnit).unit;
    std::map<QString, std::size_t> groups;
    bool hasForward = false, hasOther = false;
    for (const auto& row : table->rows) {
        const QString phase = textIn(at(*table, row, "phase"));
        const Cell& layer = at(*table, row, "layer");
        const auto speed = numberIn(at(*table, row, "flops_per_s"));
        if (!speed) continue;
        const QString label = groupLabel(phase, layer);
        const auto [group, isNew] = groups.try_emplace(label, shown.groups.size());
        if (isNew) shown.groups.push_back({label, {}}), shown.parts.emplace_back();
        const PartColumns::Part part{phase, layer};
        StackedBar bar;
        bar.label = partName(phase, layer);
        bar.total = cellText(at(*table, row, "flops_per_s"), questions::Unit::kFlops);
        const Cell& share = at(*table, row, "peak_pct");
        bar.segments.push_back(
            {*speed / perUnit, Meaning::kCompute,
             share.isNone() ? QObject::tr("of a peak that is not known") : QObject::tr("of peak"),
             share.isNone() ? QString() : cellText(share, questions::Unit::kOfPeak),
             isPale(phase)});
        bar.emphasised = !chosen || *chosen == part;
        (isPale(phase) ? hasForward : hasOther) = true;
        shown.groups[group->second].columns.push_back(std::move(bar));
        shown.parts[group->second].push_back(part);
    }
    if (hasForward)
        shown.legend.push_back(
            {QObject::tr("forward and recompute"), Meaning::kCompute, false, true});
    if (hasOther)
        shown.legend.push_back({QObject::tr("backward, and the head"), Meaning::kCompute});
    if (peak) {
        shown.peak.push_back(
            {*peak / perUnit, QObject::tr("peak per rank %1").arg(formatSi(*peak, u"FLOP/s"_s))});
        shown.legend.push_back({QObject::tr("peak"), Meaning::kTheory, true});
    }
    shown.note = partNote(*table, peak.has_value());
    return shown;
}

std::optional<RankId> rankOfRow(const Table& table, int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= table.rows.size()) return std::nullopt;
    const std::int64_t* rank =
        at(table, table.rows[static_cast<std::size_t>(row)], "rank").integer();
    if (rank == nullptr) return std::nullopt;
    return RankId{static_cast<std::uint32_t>(*rank)};
}

void ranksSecond(AnswerTable& table) {
    if (table.columns.size() < 2) return;
    std::swap(table.columns[0], table.columns[1]);
    for (auto& row : table.rows) std::swap(row[0], row[1]);
}

RankParts rankParts(const Answer& answer, const std::optional<PartColumns::Part>& chosen) {
    RankParts shown;
    const Table* table = findTable(answer, "parts");
    if (table == nullptr) return shown;
    Table some{table->key, table->title, table->columns, {}};
    std::size_t left = 0;
    for (const auto& row : table->rows) {
        if (chosen && (textIn(at(*table, row, "phase")) != chosen->phase ||
                       at(*table, row, "layer") != chosen->layer))
            continue;
        if (some.rows.size() < kMostRankRows)
            some.rows.push_back(row);
        else
            ++left;
    }
    for (int row = 0; row < std::ssize(some.rows); ++row)
        shown.ranks.push_back(rankOfRow(some, row).value_or(RankId{0}));
    shown.table = answerTable(some);
    ranksSecond(shown.table);
    shown.table.left = left;
    return shown;
}

namespace {

struct ItemLook {
    std::string_view key;
    Meaning meaning;
    bool pale = false;
};
/// Time outside of steps has no colour, since nothing trains.
constexpr ItemLook kItems[] = {
    {"goodput", Meaning::kCompute},       {"calibration", Meaning::kProfiler},
    {"evaluation", Meaning::kEvaluation}, {"checkpoint", Meaning::kCheckpoint},
    {"sample", Meaning::kHost},           {"data", Meaning::kCopy}};

ItemLook lookOf(const QString& key) {
    for (const ItemLook& look : kItems)
        if (key == QLatin1StringView(look.key)) return look;
    return {"", Meaning::kIdle};
}

}  // namespace

std::optional<GoodputBar> goodputBar(const Answer& answer) {
    const Table* table = findTable(answer, "time");
    if (table == nullptr || table->rows.empty()) return std::nullopt;
    GoodputBar shown;
    shown.bar.label = QObject::tr("all ranks");
    std::int64_t wall = 0;
    for (const auto& row : table->rows) {
        const std::int64_t* time = at(*table, row, "time_ns").integer();
        if (time == nullptr || *time <= 0) continue;
        wall += *time;
        const QString key = textIn(at(*table, row, "item"));
        const ItemLook look = lookOf(key);
        const QString name = QString(key).replace(u'_', u' ');
        shown.bar.segments.push_back(
            {Duration{*time}.seconds(), look.meaning, name, formatDuration({*time}), look.pale});
        if (look.meaning != Meaning::kIdle) shown.legend.push_back({name, look.meaning});
    }
    const bool outside =
        std::any_of(shown.bar.segments.begin(), shown.bar.segments.end(),
                    [](const BarSegment& each) { return each.meaning == Meaning::kIdle; });
    if (outside)
        shown.legend.push_back({QObject::tr("before, between and after steps"), Meaning::kIdle});
    shown.bar.total = formatDuration({wall});
    return shown;
}

ScalingCharts scalingCharts(const Answer& answer) {
    ScalingCharts charts;
    const Table* table = findTable(answer, "recordings");
    if (table == nullptr) return charts;
    LineSeries efficiency{QObject::tr("efficiency"), {}, Meaning::kCompute, true};
    LineSeries reached{QObject::tr("measured"), {}, Meaning::kCompute, true};
    LineSeries ideal{QObject::tr("as fast as one rank each"), {}, Meaning::kTheory};
    ideal.dashed = true;
    BandSeries band{QObject::tr("99.7 % interval"), {}, {}, Meaning::kCompute};
    for (const auto& row : table->rows) {
        const double ranks = numberIn(at(*table, row, "ranks")).value_or(0);
        const auto speed = numberIn(at(*table, row, "tokens_per_s"));
        const auto share = numberIn(at(*table, row, "efficiency_pct"));
        const auto low = numberIn(at(*table, row, "low_pct"));
        const auto high = numberIn(at(*table, row, "high_pct"));
        if (speed) reached.points.push_back({ranks, *speed});
        if (share) efficiency.points.push_back({ranks, *share});
        if (share && *share > 0 && speed) ideal.points.push_back({ranks, *speed / *share * 100});
        // what the others are measured against is 100 % by definition
        const bool isBaseline = share && ranks == 1;
        if ((low && high) || isBaseline) {
            band.low.push_back({ranks, low.value_or(share.value_or(0))});
            band.high.push_back({ranks, high.value_or(share.value_or(0))});
        }
    }
    // several runs of as many ranks are no curve
    for (LineSeries* line : {&efficiency, &reached})
        line->joined = std::adjacent_find(line->points.begin(), line->points.end(),
                                          [](const QPointF& a, const QPointF& b) {
                                              return a.x() == b.x();
                                          }) == line->points.end();
    if (!efficiency.points.isEmpty()) charts.efficiency.push_back(efficiency);
    if (band.low.size() > 1) charts.interval.push_back(band);
    if (!reached.points.isEmpty()) charts.throughput.push_back(reached);
    if (!ideal.points.isEmpty()) charts.throughput.push_back(ideal);
    return charts;
}

}  // namespace shardscope::desktop
