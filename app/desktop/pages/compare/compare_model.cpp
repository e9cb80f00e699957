#include "app/desktop/pages/compare/compare_model.h"

#include "profiler/analysis/steps/ledger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using analysis::Verdict;
using questions::Cell;
using questions::Table;

struct KnownFigure {
    const char* key;
    const char* title;
    const char* briefTitle;  ///< where the title does not fit
    const char* definition;
};
constexpr std::array kCards{
    KnownFigure{"step.time_ns", "Step time", "Step time",
                "From the first rank's beginning to the last one's end; median over the steps."},
    KnownFigure{"throughput.tokens_per_s", "Throughput", "Throughput",
                "Tokens of a step of all ranks over its time; median over the steps."},
    KnownFigure{"communication.exposed_ns", "Exposed communication", "Exposed comm.",
                "Collectives that no compute of their rank hides, of a step, mean over the ranks; "
                "median over the steps."},
    KnownFigure{"communication.time_ns", "Communication", "Communication",
                "Union of the collectives of a step, mean over the ranks; median over the steps."},
    KnownFigure{"memory.peak_bytes", "Peak memory", "Peak memory",
                "Most bytes alive at once on the rank that needs most."},
    KnownFigure{"loss.last_quarter", "Loss, last quarter", "Last losses",
                "Median of the losses of the last quarter of the steps, in nats."}};
constexpr const char* kSource =
    "\nWarm-up and steps with validation are left out. The interval is the middle 99.7 % of a "
    "block bootstrap over the steps.\nSource: shardscope compare.";

/// A row of the table of figures.
class FigureRow {
public:
    FigureRow(const Table& table, const std::vector<Cell>& row) : m_table(table), m_row(row) {}
    [[nodiscard]] const Cell& at(const char* key) const { return m_row[m_table.columnAt(key)]; }
    [[nodiscard]] QString text(const char* key) const {
        const std::size_t column = m_table.columnAt(key);
        return cellText(m_row[column], m_table.unitOf(m_row, column));
    }
    [[nodiscard]] std::string_view key() const {
        const std::string* text = at("figure").text();
        return text != nullptr ? std::string_view(*text) : std::string_view();
    }
    [[nodiscard]] Verdict verdict() const {
        const std::string* word = at("verdict").text();
        return (word != nullptr ? fromWord<Verdict>(*word) : std::nullopt)
            .value_or(Verdict::kCannotTell);
    }
    [[nodiscard]] std::optional<double> number(const char* key) const {
        const Cell& cell = at(key);
        if (const double* real = cell.real()) return *real;
        if (const std::int64_t* whole = cell.integer()) return static_cast<double>(*whole);
        return std::nullopt;
    }

private:
    const Table& m_table;
    const std::vector<Cell>& m_row;
};

std::optional<FigureRow> findFigure(const questions::Answer& answer, std::string_view key) {
    const Table* table = findTable(answer, "figures");
    if (table == nullptr) return std::nullopt;
    for (const auto& row : table->rows)
        if (FigureRow found(*table, row); found.key() == key) return found;
    return std::nullopt;
}

QString changeText(const FigureRow& row) {
    const auto change = row.number("change_pct"), low = row.number("low_pct"),
               high = row.number("high_pct");
    if (!change) return u"change unknown"_s;
    QString text = formatSignedPercent(*change / 100);
    // of what is exact there is nothing between
    if (low && high && *low < *high)
        text += u", between %1 and %2"_s.arg(formatSignedPercent(*low / 100),
                                             formatSignedPercent(*high / 100));
    return text;
}

/// "12.1" and "ms" of "12.1 ms".
ValueText apart(const QString& text) {
    constexpr QChar kThinSpace{u'\u2009'};
    const qsizetype space = text.lastIndexOf(kThinSpace);
    if (space < 0) return {text, {}};
    return {text.left(space), text.mid(space + 1)};
}

QString verdictText(const FigureRow& row) {
    const QString word = QString::fromLatin1(toWord(row.verdict()));
    const double change = row.number("change_pct").value_or(0);
    const bool moved = row.verdict() == Verdict::kImproved || row.verdict() == Verdict::kRegressed;
    if (!moved) return word;
    return (change < 0 ? u"▼ "_s : u"▲ "_s) + word;
}

CompareCard cardOf(const KnownFigure& known, const FigureRow& row) {
    CompareCard card;
    card.key = QString::fromLatin1(known.key);
    card.title = QString::fromLatin1(known.title);
    card.briefTitle = QString::fromLatin1(known.briefTitle);
    card.value = apart(row.text("second"));
    card.before = row.text("first");
    // a number stays with its unit where the line breaks
    card.change = changeText(row).replace(u'\u2009', u'\u202F');
    card.verdict = verdictText(row);
    if (row.verdict() == Verdict::kImproved) card.good = true;
    if (row.verdict() == Verdict::kRegressed) card.good = false;
    card.definition = QString::fromLatin1(known.definition) + QString::fromLatin1(kSource);
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

}  // namespace

QString letterOf(std::size_t place) {
    return QString(QChar(static_cast<char16_t>(u'A' + place % 26)));
}

QString compareHeadline(const Comparison& comparison) {
    if (comparison.refused) return u"These recordings cannot be compared."_s;
    const auto row = findFigure(comparison.answer, "step.time_ns");
    const QString names =
        u"%1 against %2"_s.arg(comparison.recordings.back().name, comparison.recordings[0].name);
    if (!row || !row->number("first") || !row->number("second"))
        return u"%1: which is faster is unknown; one has no whole steps."_s.arg(names);
    return u"A step takes %1 instead of %2: %3, %4."_s.arg(
        row->text("second"), row->text("first"), QString::fromLatin1(toWord(row->verdict())),
        changeText(*row));
}

QString compareSubline(const Comparison& comparison) {
    QStringList parts;
    const auto count = comparison.recordings.size();
    parts << (count == 2 ? u"%1 against its baseline %2."_s.arg(comparison.recordings[1].name,
                                                                comparison.recordings[0].name)
                         : u"%1 against %2 baselines, their steps taken together."_s
                               .arg(comparison.recordings.back().name)
                               .arg(count - 1));
    if (!comparison.lossSentence.empty()) parts << fromUtf8(comparison.lossSentence);
    if (!comparison.query.selection.isEverything())
        parts << u"Of what is selected, in each of them."_s;
    return parts.join(u' ');
}

std::vector<CompareCard> compareCards(const questions::Answer& answer) {
    std::vector<CompareCard> cards;
    for (const KnownFigure& known : kCards)
        if (const auto row = findFigure(answer, known.key)) cards.push_back(cardOf(known, *row));
    return cards;
}

std::vector<MirroredBar> mirroredLedger(const questions::Answer& answer) {
    std::vector<MirroredBar> bars;
    const Table* table = findTable(answer, "figures");
    if (table == nullptr) return bars;
    for (const auto& cells : table->rows) {
        const FigureRow row(*table, cells);
        const auto part = partOfKey(row.key());
        if (!part) continue;
        const auto first = row.number("first"), second = row.number("second");
        MirroredBar bar{QString::fromLatin1(toWord(*part)),
                        meaningOf(*part),
                        first.value_or(0) / 1e6,
                        second.value_or(0) / 1e6,
                        row.text("first"),
                        row.text("second"),
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
    const auto row = findFigure(comparison.answer, "step.time_ns");
    const auto median = row ? row->number(isLast ? "second" : "first") : std::nullopt;
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

}  // namespace shardscope::desktop
