#include "app/desktop/pages/memory/memory_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/memory/memory_query.h"
#include "app/desktop/pages/memory/moment_model.h"
#include "app/desktop/pages/memory/moment_panel.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/stacked_area.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr std::size_t kMostPictures = 4;
constexpr std::size_t kMostOwners = 12;
/// A device's limit is drawn to scale up to this many times what is shown.
constexpr double kNearLimit = 2.5;

std::vector<AreaMark> stepMarks(const MemoryColumns& columns) {
    std::vector<AreaMark> marks;
    for (const MemoryColumns::StepBegin& step : columns.steps)
        marks.push_back({step.time, u"step %1"_s.arg(step.step.value)});
    return marks;
}

}  // namespace

PageEntry MemoryPage::entry() {
    return {page_ids::kMemory, u"memory"_s, tr("Memory"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new MemoryPage(context, parent);
            }};
}

MemoryPage::MemoryPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent), m_columns(context.loader, Urgency::kPicture) {
    m_moment = new MomentPanel(context.loader, this);
    connect(m_moment, &MomentPanel::momentRead, this, &MemoryPage::presentMoment);
    connect(m_moment, &MomentPanel::hoverChanged, this, &Page::hoverChanged);
    connect(m_moment, &MomentPanel::peakWanted, this, [this] {
        m_chosen.reset();
        requestMoment();
    });
    setUp(buildContent(), entry().icon, tr("Where does the memory go?"),
          tr("Open a recording or start a run with capture level full: this page then shows the "
             "bytes of every category over time against what theory says."),
          {{0, 0.02, 0.7, 0.5},
           {0, 0.58, 0.7, 0.36},
           {0.74, 0.02, 0.26, 0.14},
           {0.74, 0.22, 0.26, 0.4}},
          true);
}

std::vector<Page::KeyNote> MemoryPage::keyNotes() const {
    return {{tr("Click"), tr("in the memory over time: what is alive then")},
            {tr("Left, Right"), tr("in the address space: block before, after")},
            {tr("Z, Esc"), tr("in the address space: the block's segment alone, all")}};
}

QWidget* MemoryPage::buildContent() {
    auto* content = new QWidget(this);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapGroup);
    layout->addWidget(buildOverTime(content));
    layout->addWidget(m_moment);
    layout->addStretch();
    return content;
}

QWidget* MemoryPage::buildOverTime(QWidget* parent) {
    auto* content = new QWidget(parent);
    auto* layout = new QHBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(32);
    auto* main = new QVBoxLayout;
    main->setSpacing(kGap);
    m_pictureColumn = new QVBoxLayout;
    m_pictureColumn->setSpacing(kGap);
    main->addLayout(m_pictureColumn);
    m_more = quietLabel({}, content);
    m_more->hide();
    main->addWidget(m_more);
    m_legend = new Legend(content);
    main->addWidget(m_legend);
    main->addSpacing(kGap);
    main->addWidget(sectionLabel(tr("At the peak, by category"), content));
    m_table = new DataTable(tr("Memory at the peak by category"), content);
    m_table->setFitsRows(true);
    main->addWidget(m_table);
    main->addStretch();
    layout->addLayout(main, 5);
    layout->addWidget(buildSide(content), 2);
    return content;
}

QWidget* MemoryPage::buildSide(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setMinimumWidth(264);
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    m_bars = new StackedBars(side);
    m_bars->setAccessibleName(tr("Peak by rank"));
    m_bars->setLabelWidth(56);
    connect(m_bars, &StackedBars::activated, this, [this](int bar) {
        const std::vector<RankId> ranks = hasPart() ? ranksByPeak(part()) : std::vector<RankId>{};
        if (bar >= 0 && bar < static_cast<int>(ranks.size()))
            this->selection().selectRanks({ranks[static_cast<std::size_t>(bar)]});
    });
    m_peakWords = quietLabel({}, side);
    m_showPeak = new QPushButton(tr("Show the step of the peak"), side);
    m_showPeak->setAccessibleName(tr("Select the step of the peak"));
    connect(m_showPeak, &QPushButton::clicked, this, &MemoryPage::showPeakStep);
    m_owners = new DataTable(tr("Largest owners of memory at that time"), side);
    m_owners->setFitsRows(true);
    layout->addWidget(sectionLabel(tr("Peak by rank"), side));
    layout->addWidget(m_bars);
    layout->addSpacing(kGap);
    m_ownersTitle = sectionLabel(tr("What made the peak"), side);
    layout->addWidget(m_ownersTitle);
    layout->addWidget(m_peakWords);
    layout->addWidget(m_showPeak, 0, Qt::AlignLeft);
    layout->addWidget(m_owners);
    layout->addStretch();
    return side;
}

void MemoryPage::present() {
    if (!hasPart()) return;
    const auto* worst = worstRank(part());
    if (worst == nullptr)
        return pageFrame().showNothing(memoryHeadline(part()), noMemoryText(part()));
    if (pageFrame().state() == PageFrame::State::kNothing)
        pageFrame().showState(PageFrame::State::kFull);
    pageFrame().setHeadline(memoryHeadline(part()), memorySubline(part(), {}));
    if (!(m_chosenIn == part().selection)) m_chosen.reset();
    m_legend->setEntries(
        memoryLegend(part(), m_frame ? drawnCategories(*m_frame) : std::vector<MemoryCategory>{}));
    m_bars->setBars(memoryBars(part()));
    m_table->setTable(memoryColumns(worst->theory.count != 0), memoryRows(*worst));
    request();
}

void MemoryPage::showEvent(QShowEvent* event) {
    RecordingPage::showEvent(event);
    if (hasRecording()) request();
}

void MemoryPage::request() {
    if (!hasRecording() || !hasPart() || !isVisible()) return;
    const auto* worst = worstRank(part());
    if (worst == nullptr) return;
    MemoryQuery query;
    query.range = memoryRange(part());
    query.ranks = ranksByPeak(part());
    const std::size_t all = query.ranks.size();
    if (all > kMostPictures) query.ranks.resize(kMostPictures);
    m_more->setText(all > kMostPictures
                        ? tr("The %1 ranks with the highest peaks of %2; click a bar for another.")
                              .arg(kMostPictures)
                              .arg(formatCount(static_cast<std::int64_t>(all)))
                        : QString());
    m_more->setVisible(all > kMostPictures);
    placePictures(query.ranks.size());
    query.columns = m_pictures.empty() ? 800 : std::max(200, m_pictures.front()->plotWidth());
    m_columns.ask(
        [query](auto& reader, const auto& recording, const auto& generation) {
            return loadMemory(reader, recording, query, generation);
        },
        [this](const MemoryFramePtr& frame) { showFrame(frame); });
    requestMoment();
}

void MemoryPage::requestMoment() {
    const auto* worst = hasPart() ? worstRank(part()) : nullptr;
    if (worst == nullptr) return;
    const MomentQuery peak{worst->rank, worst->peakTime};
    const MomentQuery query = m_chosen.value_or(peak);
    for (std::size_t i = 0; m_frame && i < m_pictures.size() && i < m_frame->ranks.size(); ++i) {
        const bool isHere = m_chosen && m_chosen->rank == m_frame->ranks[i].rank;
        m_pictures[i]->setMoment(isHere ? std::optional(query.time) : std::nullopt);
    }
    m_moment->showMoment(shownRecording(), query, query == peak);
}

void MemoryPage::pickTime(const StackedArea* picture, Timestamp time) {
    const auto at = std::find(m_pictures.begin(), m_pictures.end(), picture) - m_pictures.begin();
    if (!m_frame || !hasPart() || at >= std::ssize(m_frame->ranks)) return;
    m_chosen = MomentQuery{m_frame->ranks[static_cast<std::size_t>(at)].rank, time};
    m_chosenIn = part().selection;
    requestMoment();
}

void MemoryPage::placePictures(std::size_t ranks) {
    const std::size_t wanted = std::clamp<std::size_t>(ranks, 1, kMostPictures);
    while (m_pictures.size() > wanted) {
        delete m_pictures.back();
        m_pictures.pop_back();
    }
    while (m_pictures.size() < wanted) {
        auto* picture = new StackedArea(this);
        connect(picture, &StackedArea::cursorMoved, this, [this](std::optional<double> share) {
            for (StackedArea* each : m_pictures) each->showCursor(share);
        });
        connect(picture, &StackedArea::rangeSelected, this,
                [this](TimeRange range) { this->selection().selectRange(range); });
        connect(picture, &StackedArea::timePicked, this,
                [this, picture](Timestamp time) { pickTime(picture, time); });
        if (m_pictures.empty())
            connect(
                picture, &StackedArea::plotResized, this,
                [this] {
                    if (hasRecording()) request();
                },
                Qt::QueuedConnection);
        m_pictureColumn->addWidget(picture, 1);
        m_pictures.push_back(picture);
    }
    // one scale for all: their plots are equally high, the last has the axis below its own
    const int high = wanted > 2 ? 104 : wanted > 1 ? 144 : 280;
    for (std::size_t i = 0; i < m_pictures.size(); ++i) {
        m_pictures[i]->setShowsAxis(i + 1 == m_pictures.size());
        m_pictures[i]->setPlotHeight(high);
    }
}

void MemoryPage::showFrame(const MemoryFramePtr& frame) {
    if (!hasRecording() || !hasPart()) return;
    m_frame = frame;
    placePictures(frame->ranks.size());
    m_legend->setEntries(memoryLegend(part(), drawnCategories(*frame)));
    double highest = 0;
    for (const MemoryColumns& columns : frame->ranks) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            highest = std::max(highest, columns.total(i));
        for (double reserved : columns.reserved) highest = std::max(highest, reserved);
    }
    for (const auto& memory : part().report->memory)
        highest = std::max(highest, static_cast<double>(memory.theory.count));
    const double limit = nearLimit(highest);
    highest = std::max(highest, limit);
    for (std::size_t i = 0; i < m_pictures.size() && i < frame->ranks.size(); ++i) {
        fillPicture(*m_pictures[i], frame->ranks[i], highest * 1.04);
    }
}

void MemoryPage::fillPicture(StackedArea& picture, const MemoryColumns& columns, double highest) {
    std::vector<AreaBand> bands;
    for (MemoryCategory category : stackOrder()) {
        const auto& values = columns.categories[static_cast<std::size_t>(category)];
        if (std::none_of(values.begin(), values.end(), [](double value) { return value > 0; }))
            continue;
        bands.push_back({QString::fromLatin1(toWord(category)), meaningOf(category), values});
    }
    picture.setTitle(tr("rank %1").arg(columns.rank.value));
    picture.setBands(std::move(bands), columns.range, highest);
    picture.setLine(tr("reserved by the allocator"), columns.reserved);
    picture.setMarks(stepMarks(columns));
    std::vector<AreaGap> gaps;  // memory events are what only the level full holds
    for (const DetailFacts& detail : recording().summary.detail)
        if (detail.rank == columns.rank) gaps.push_back({detail.range, leftOutWord(detail)});
    picture.setGaps(std::move(gaps));
    picture.setPeak(std::nullopt, {});
    picture.setReference(0, {});
    for (const auto& memory : part().report->memory) {
        if (memory.rank != columns.rank || !memory.known) continue;
        if (memory.theory.count > 0)
            picture.setReference(
                static_cast<double>(memory.theory.count),
                memory.managed() == memory.peak
                    ? tr("theory: peak %1").arg(formatBytes(memory.theory))
                    : tr("theory within the allocator: %1").arg(formatBytes(memory.theory)));
        picture.setPeak(memory.peakTime, tr("peak %1").arg(formatBytes(memory.peak)));
    }
    const bool isChosen = m_chosen && m_chosen->rank == columns.rank;
    picture.setMoment(isChosen ? std::optional(m_chosen->time) : std::nullopt);
    picture.setLimit(0, {});
    for (const DeviceFacts& device : recording().summary.devices)
        if (device.rank == columns.rank && device.memory.count > 0)
            picture.setLimit(static_cast<double>(device.memory.count),
                             tr("device: %1").arg(formatBytes(device.memory)));
}

/// The least device, where its limit is near enough to be drawn to scale; else 0.
double MemoryPage::nearLimit(double highest) const {
    double least = 0;
    for (const DeviceFacts& device : recording().summary.devices) {
        const auto memory = static_cast<double>(device.memory.count);
        if (memory > 0 && (least == 0 || memory < least)) least = memory;
    }
    return least <= kNearLimit * highest ? least : 0;
}

void MemoryPage::presentMoment(const MomentFramePtr& frame, bool isPeak) {
    if (!hasPart()) return;
    if (isPeak)
        pageFrame().setHeadline(memoryHeadline(part()), memorySubline(part(), frame->doing));
    m_ownersTitle->setText(isPeak ? tr("What made the peak") : tr("What was alive then"));
    m_showPeak->setVisible(peakStep().has_value());
    const auto* worst = worstRank(part());
    const bool knowsPeak = isPeak && worst != nullptr && worst->peakTime == frame->query.time;
    m_peakWords->setText(ownersNote(*frame, knowsPeak ? std::optional(worst->peak) : std::nullopt));
    m_owners->setTable(ownerColumns(), ownerRows(*frame, kMostOwners));
    m_owners->setVisible(m_owners->table()->allRows() > 0);
}

std::optional<StepIndex> MemoryPage::peakStep() const {
    const auto* worst = worstRank(part());
    if (worst == nullptr) return std::nullopt;
    for (const StepFacts& step : recording().summary.steps)
        if (step.rank == worst->rank && step.range().contains(worst->peakTime)) return step.step;
    return std::nullopt;
}

void MemoryPage::showPeakStep() {
    if (!hasPart()) return;
    if (const auto step = peakStep()) selection().selectSteps({*step, *step});
}

}  // namespace shardscope::desktop
