#include "app/desktop/pages/efficiency/efficiency_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/training_figures.h"
#include "app/desktop/pages/efficiency/scaling_panel.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kMostRowsSeen = 6;  ///< of ranks; the others scroll

}  // namespace

PageEntry EfficiencyPage::entry() {
    return {page_ids::kEfficiency, u"efficiency"_s, tr("Efficiency"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new EfficiencyPage(context, parent);
            }};
}

EfficiencyPage::EfficiencyPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_loader(context.loader),
      m_settingsFile(context.settingsFile),
      m_topic(context.loader, Urgency::kTable) {
    m_scaling = new ScalingPanel(context.compared, this);
    setUp(buildContent(), entry().icon, tr("How much of the peak is reached?"),
          tr("Open a recording or start a run: this page then says how much of the peak its matrix "
             "products reach, by phase and layer, where its time went, and how it scales."),
          {{0, 0.02, 0.6, 0.3},
           {0.64, 0.02, 0.36, 0.3},
           {0, 0.38, 1, 0.28},
           {0, 0.72, 1, 0.08},
           {0, 0.84, 1, 0.14}},
          true);
    buildControls();
    connect(&context.loader, &RecordingLoader::sketched, this, [this] {
        m_topic.forget();
        m_asked.reset();
        m_frame.reset();
        m_part.reset();
        m_scaling->forget();
    });
}

std::vector<Page::KeyNote> EfficiencyPage::keyNotes() const {
    auto* self = const_cast<EfficiencyPage*>(this);
    return {{tr("Left, Right"), tr("in the columns: phase and layer before, after")},
            {tr("Enter"), tr("on a column: its ranks alone")},
            {{}, tr("add recordings to see how it scales"), [self] {
                 if (self->hasRecording()) self->m_scaling->addRecordings();
             }}};
}

bool EfficiencyPage::isReading() const {
    return m_scaling->isReading();
}

void EfficiencyPage::showEvent(QShowEvent* event) {
    RecordingPage::showEvent(event);
    // others may have been chosen, and targets set, on another page
    if (hasRecording()) present();
}

void EfficiencyPage::present() {
    if (!hasPart()) return;
    m_targets = readTargets(m_settingsFile);
    m_scaling->setImportFolder(m_loader.importFolder());
    m_scaling->present(shownRecording(), m_targets.scaling);
    if (currentPart() == m_asked) {
        if (m_frame) presentMfu();
        return;
    }
    m_asked = currentPart();
    if (!m_frame) pageFrame().setHeadline(tr("Reading how well devices and time were used…"), {});
    m_topic.ask(
        [part = m_asked](auto& reader, const auto&, const auto& generation) {
            return loadEfficiency(reader, part, generation);
        },
        [this](const EfficiencyFramePtr& frame) { showFrame(frame); });
}

void EfficiencyPage::showFrame(const EfficiencyFramePtr& frame) {
    m_frame = frame;
    if (!hasEfficiency(*frame)) {
        const QString headline = efficiencyHeadline(*frame, m_variant);
        pageFrame().setHeadline(headline, {});
        return pageFrame().showNothing(tr("Efficiency unknown"), missingEfficiency(*frame));
    }
    if (pageFrame().state() == PageFrame::State::kNothing)
        pageFrame().showState(PageFrame::State::kFull);
    presentMfu();
    presentParts();
    presentGoodput();
    presentTable("peaks", *m_peakBlock, *m_peaks);
    presentTable("energy", *m_energyBlock, *m_energy);
    m_unknown->setText(otherUnknown(*frame, pageFrame().headline()).join(u'\n'));
    m_unknown->setVisible(!m_unknown->text().isEmpty());
}

void EfficiencyPage::presentMfu() {
    pageFrame().setHeadline(efficiencyHeadline(*m_frame, m_variant),
                            efficiencySubline(*m_frame, m_variant, m_targets));
    const auto variants = mfuVariants(m_frame->answer);
    m_mfuBlock->setVisible(!variants.empty());
    m_choice->setEnabled(!variants.empty());
    const MfuVariant* chosen = findVariant(variants, m_variant);
    const QSignalBlocker quiet(m_choice);
    m_choice->clear();
    for (const MfuVariant& each : variants) {
        m_choice->addItem(variantName(each.word), each.word);
        m_choice->setItemData(m_choice->count() - 1, variantTip(each.word), Qt::ToolTipRole);
        if (&each == chosen) m_choice->setCurrentIndex(m_choice->count() - 1);
    }
    if (chosen == nullptr) return;
    m_curve->setTitles(tr("MFU (%1)").arg(variantName(chosen->word)), tr("%"), tr("step"));
    LineSeries line{tr("MFU"), mfuBySteps(*m_frame, m_variant), Meaning::kCompute};
    m_curve->setDefinition(
        line.points.isEmpty()
            ? tr("MFU of each step is unknown.")
            : tr("Tokens of all ranks in the step / its time x %1 FLOPs per token / the peak of "
                 "all ranks. Drag to select steps.")
                  .arg(formatSi(chosen->flopsPerToken, {}).trimmed()));
    if (const std::string& why = part().report->mfu.reason; !why.empty())
        m_curve->setEmptyText(tr("Unknown: %1.").arg(fromUtf8(why)));
    m_curve->setSeries(line.points.isEmpty() ? std::vector<LineSeries>{}
                                             : std::vector<LineSeries>{line});
    m_curve->setMarks(
        {}, line.points.isEmpty()
                ? std::vector<ChartMark>{}
                : std::vector<ChartMark>{
                      {m_targets.mfu * 100, tr("target ≥ %1").arg(formatPercent(m_targets.mfu))}});
    AnswerTable shown = answerTable(*findTable(m_frame->answer, "variants"));
    for (auto& row : shown.rows) {
        const QString word = row.front().text;
        row.front().text = variantName(word);
        row.front().tip = variantTip(word);
    }
    m_variants->updateTable(std::move(shown.columns), std::move(shown.rows));
    m_variants->selectSource(static_cast<int>(chosen - variants.data()));
}

void EfficiencyPage::chooseVariant(const QString& word) {
    if (word == m_variant) return;
    m_variant = word;
    if (m_frame && hasEfficiency(*m_frame)) presentMfu();
}

void EfficiencyPage::choosePart(int group, int column) {
    if (!m_frame || group < 0 || group >= std::ssize(m_columns.parts)) return;
    const auto& parts = m_columns.parts[static_cast<std::size_t>(group)];
    if (column < 0 || column >= std::ssize(parts)) return;
    const PartColumns::Part part = parts[static_cast<std::size_t>(column)];
    m_part = m_part == part ? std::nullopt : std::optional(part);
    presentParts();
}

void EfficiencyPage::presentParts() {
    m_columns = partColumns(m_frame->answer, m_part);
    m_partBlock->setVisible(!m_columns.groups.empty());
    m_speeds->setTitles(tr("%1 per rank, mean").arg(m_columns.unit), tr("block"));
    m_speeds->setMarks(m_columns.peak);
    m_speeds->setGroups(m_columns.groups);
    m_speedLegend->setEntries(m_columns.legend);
    m_partNote->setText(m_columns.note);
    presentRanks();
}

void EfficiencyPage::presentRanks() {
    RankParts shown = rankParts(m_frame->answer, m_part);
    // of a selection without that part, all of it
    if (m_part && shown.ranks.empty()) {
        m_part.reset();
        return presentParts();
    }
    m_partRanks = std::move(shown.ranks);
    m_rankNote->setText(tr("%1 more rows: select ranks, or a column, to see them.")
                            .arg(formatCount(static_cast<std::int64_t>(shown.table.left))));
    m_rankNote->setVisible(shown.table.left > 0);
    m_ranks->setAccessibleDescription(shown.table.left > 0 ? m_rankNote->text() : QString());
    m_ranks->setTable(std::move(shown.table.columns), std::move(shown.table.rows));
    m_all->setVisible(m_part.has_value());
    if (m_part) {
        const QString layer = cellText(m_part->layer, questions::Unit::kNone);
        m_all->setText(m_part->layer.isNone()
                           ? tr("Only %1  ✕").arg(m_part->phase)
                           : tr("Only %1, block %2  ✕").arg(m_part->phase, layer));
    }
}

void EfficiencyPage::presentGoodput() {
    const auto goodput = goodputBar(m_frame->answer);
    m_goodputBlock->setVisible(goodput.has_value());
    if (!goodput) return;
    m_goodput->setBars({goodput->bar});
    m_goodputLegend->setEntries(goodput->legend);
    AnswerTable shown = answerTable(*findTable(m_frame->answer, "time"));
    m_items->setTable(std::move(shown.columns), std::move(shown.rows));
}

void EfficiencyPage::presentTable(const char* key, QWidget& block, DataTable& table) {
    const questions::Table* found = findTable(m_frame->answer, key);
    block.setVisible(found != nullptr && !found->rows.empty());
    if (found == nullptr) return;
    AnswerTable shown = answerTable(*found, kMostRankRows);
    ranksSecond(shown);
    table.setTable(std::move(shown.columns), std::move(shown.rows));
    table.setRowsSeen(kMostRowsSeen);
}

/// Whole steps; between two the nearer one.
void EfficiencyPage::selectStretch(double low, double high) {
    if (!hasRecording()) return;
    auto first = static_cast<std::int32_t>(std::ceil(low));
    auto last = static_cast<std::int32_t>(std::floor(high));
    if (first > last) first = last = static_cast<std::int32_t>(std::lround((low + high) / 2));
    selection().selectSteps({StepIndex{first}, StepIndex{last}});
}

void EfficiencyPage::selectRank(std::optional<RankId> rank) {
    if (rank) selection().selectRanks({*rank});
}

}  // namespace shardscope::desktop
