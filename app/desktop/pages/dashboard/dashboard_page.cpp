#include "app/desktop/pages/dashboard/dashboard_page.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "app/desktop/pages/dashboard/dashboard_sheet.h"
#include "app/desktop/widgets/theme.h"
#include "profiler/questions/read_pieces.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <QPageLayout>
#include <QPrintDialog>
#include <QPrinter>
#include <QPushButton>
#include <utility>

namespace shardscope::desktop {
namespace {

Result<std::optional<FlowOfStep>> readFlow(storage::RecordingReader& reader,
                                           const RecordingSummary& summary) {
    if (summary.ranks.empty()) return std::optional<FlowOfStep>();
    const StepFacts* step = typicalStep(summary, summary.ranks.front().rank);
    if (step == nullptr) return std::optional<FlowOfStep>();
    auto events = questions::readRank(reader, summary, step->rank, {step->start, step->end});
    if (!events) return failure(events);
    return std::optional(FlowOfStep{*step, std::move(*events)});
}

/// Of the selected part, and of a typical step of its first rank. Reads that step's events.
Result<DashboardPtr> loadDashboard(storage::RecordingReader& reader, const PartPtr& part,
                                   const Targets& targets) {
    const auto flow = readFlow(reader, *part->summary);
    if (!flow) return failure(flow);
    return std::make_shared<const Dashboard>(dashboardOf(*part, targets, *flow));
}

using namespace Qt::StringLiterals;

}  // namespace

PageEntry DashboardPage::entry() {
    return {page_ids::kDashboard, u"dashboard"_s, tr("Dashboard"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new DashboardPage(context, parent);
            }};
}

DashboardPage::DashboardPage(PageContext& context, QWidget* parent)
    : RecordingPage(context, parent),
      m_settingsFile(context.settingsFile),
      m_reading(context.loader, Urgency::kTable),
      m_sheet(new DashboardSheet(this)) {
    setUp(
        m_sheet, entry().icon, tr("A run on one sheet"),
        tr("Open a recording or start a run: this page then shows its pictures together, to print "
           "and to keep."),
        {{0, 0, 0.23, 0.22},
         {0.26, 0, 0.23, 0.22},
         {0.52, 0, 0.23, 0.22},
         {0.78, 0, 0.22, 0.22},
         {0, 0.26, 0.23, 0.22},
         {0.26, 0.26, 0.23, 0.22},
         {0.52, 0.26, 0.23, 0.22},
         {0.78, 0.26, 0.22, 0.22}},
        true);
    m_sheet->hideTitle();
    connect(m_sheet, &DashboardSheet::hovered, this, &Page::hoverChanged);
    buildActions();
}

void DashboardPage::buildActions() {
    auto* save = new QPushButton(tr("Save as…"), this);
    save->setToolTip(tr("Write this sheet to a PNG, SVG or PDF file."));
    connect(save, &QPushButton::clicked, this, &Page::exportRequested);
    auto* print = new QPushButton(tr("Print…"), this);
    print->setToolTip(tr("Print this sheet on one page."));
    connect(print, &QPushButton::clicked, this, &DashboardPage::choosePrinter);
    pageFrame().addHeaderWidget(save);
    pageFrame().addHeaderWidget(print);
}

std::vector<Page::KeyNote> DashboardPage::keyNotes() const {
    auto* page = const_cast<DashboardPage*>(this);
    return {{{}, tr("Print the dashboard"), [page] { page->choosePrinter(); }}};
}

void DashboardPage::choosePrinter() {
    if (!m_dashboard) return;
    auto printer = std::make_shared<QPrinter>();
    printer->setPageOrientation(QPageLayout::Landscape);
    printer->setDocName(m_dashboard->title);
    auto* dialog = new QPrintDialog(printer.get(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, qOverload<QPrinter*>(&QPrintDialog::accepted), this, [this, printer] {
        const QRectF page = printer->pageRect(QPrinter::DevicePixel);
        const QSize sheet = pageSize(papers().constFirst());
        const auto wide = static_cast<int>(sheet.width());
        const QSize size(wide, static_cast<int>(wide * page.height() / page.width()));
        const auto printed = printPicture(drawn(size, false), *printer);
        if (!printed) return pageFrame().setBanner(fromUtf8(printed.error().message));
        const QString where = printer->outputFileName().isEmpty() ? printer->printerName()
                                                                  : printer->outputFileName();
        pageFrame().setHeadline(pageFrame().headline(), tr("Printed: one page, to %1.").arg(where));
    });
    dialog->open();
}

DrawnPicture DashboardPage::drawn(QSize size, bool dark) {
    return m_dashboard ? drawDashboard(m_dashboard, size, dark) : RecordingPage::drawn(size, dark);
}

void DashboardPage::present() {
    if (!hasPart()) return;
    pageFrame().setHeadline(dashboardHeadline(part()),
                            tr("Of the selection; the title of each picture says what it shows."));
    const PartPtr wanted = currentPart();
    const Targets targets = readTargets(m_settingsFile);
    m_reading.ask([wanted, targets](storage::RecordingReader& reader, const auto&,
                                    const auto&) { return loadDashboard(reader, wanted, targets); },
                  [this](const DashboardPtr& dashboard) {
                      m_dashboard = dashboard;
                      m_sheet->setDashboard(dashboard);
                  });
}

}  // namespace shardscope::desktop
