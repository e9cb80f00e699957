#include "app/desktop/pages/recording_page.h"

#include "app/desktop/models/recording_texts.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QPicture>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kCaption = 32;  ///< over a page that is saved

}  // namespace

RecordingPage::RecordingPage(PageContext& context, QWidget* parent)
    : Page(parent), m_selection(context.selection), m_part(context.part) {
    connect(&m_selection, &SelectionModel::selectionChanged, this, [this] {
        if (m_recording) presentOnceSeen();
    });
    connect(&m_part, &PartLoader::changed, this, [this] {
        if (m_recording) presentOnceSeen();
    });
    connect(&context.loader, &RecordingLoader::opening, this, &RecordingPage::showLoading);
    connect(&context.loader, &RecordingLoader::opened, this, &RecordingPage::showRecording);
    connect(&context.loader, &RecordingLoader::sketched, this,
            [this](const RecordingPtr& recording) {
                m_recording.reset();
                if (showsSketches())
                    showRecording(recording);
                else
                    showLoading(recording->path);
            });
    connect(&context.loader, &RecordingLoader::importing, this, [this](double share) {
        m_imported = share;
        if (m_recording && m_recording->isImporting()) showLimits();
    });
    connect(&context.loader, &RecordingLoader::closed, this, [this] {
        m_recording.reset();
        m_frame->showState(PageFrame::State::kEmpty);
    });
    connect(&context.loader, &RecordingLoader::grown, this, &RecordingPage::showRecording);
    connect(&context.loader, &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) { showError(message); });
}

void RecordingPage::setUp(QWidget* content, const QString& icon, const QString& emptyTitle,
                          const QString& emptyText, std::vector<QRectF> skeleton, bool scrolls) {
    auto* empty = new MessageState(icon, emptyTitle, emptyText, this);
    addWays(*empty);
    m_frame = new PageFrame(content, empty, std::move(skeleton), scrolls, this);
    connect(m_frame->errorState()->addAction(tr("Open another recording…"), false),
            &QPushButton::clicked, this, &RecordingPage::openRequested);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_frame);
    m_frame->showState(PageFrame::State::kEmpty);
}

void RecordingPage::addWays(MessageState& empty) {
    connect(empty.addAction(tr("Start a new run"), true), &QPushButton::clicked, this,
            [this] { Q_EMIT pageRequested(page_ids::kNewRun); });
    connect(empty.addAction(tr("Open a recording…"), false), &QPushButton::clicked, this,
            &RecordingPage::openRequested);
}

DrawnPicture RecordingPage::drawn(QSize size, bool dark) {
    if (!m_recording || m_frame->state() != PageFrame::State::kFull) return Page::drawn(size, dark);
    const Theme& theme = Theme::of(this);
    const QSize whole = m_frame->wholeSize() + QSize(0, kCaption);
    const QString of =
        u"%1 · %2"_s.arg(m_recording->label(), selectionText(*m_recording, m_selection.current()));
    QPicture picture;
    QPainter painter(&picture);
    painter.fillRect(QRect({}, whole), theme.window);
    painter.setPen(theme.quietText);
    painter.setFont(textFont(kSmallPixels));
    painter.drawText(QRect(kGapPage, kGap, whole.width() - 2 * kGapPage, kCaption),
                     Qt::AlignVCenter | Qt::AlignLeft, of);
    m_frame->paintWhole(painter, {0, kCaption});
    painter.end();
    return {picture, whole, of};
}

void RecordingPage::showElsewhere(const QString& page, const Selection& evidence) {
    m_selection.show({page, evidence});  // one step: back leads here
    Q_EMIT pageRequested(page);
}

void RecordingPage::showFinding(const Finding& finding) {
    // the list that it comes from may be gone once the selection has changed
    const Finding shown = finding;
    showElsewhere(shown.page, shown.evidence);
    if (shown.longestIn) Q_EMIT pointRequested(shown.page, {{}, *shown.longestIn, shown.rank});
}

void RecordingPage::showLoading(const QString& path) {
    if (m_recording) return;  // stays until the other one is there
    m_frame->setHeadline(tr("Reading the recording…"), path);
    m_frame->showState(PageFrame::State::kLoading);
}

void RecordingPage::showError(const QString& message) {
    // the window says that the other one could not be opened; a sketch is the one that failed
    if (m_recording && m_recording->analysed) return;
    m_recording.reset();
    m_frame->showError(tr("The recording could not be opened"), message);
}

void RecordingPage::showRecording(const RecordingPtr& recording) {
    m_recording = recording;
    m_frame->showState(PageFrame::State::kFull);
    if (std::exchange(m_shownId, recording->summary.run.id) != recording->summary.run.id)
        beginAtTheTop();
    showLimits();
    presentOnceSeen();
}

/// Where one was in another recording says nothing about this one.
void RecordingPage::beginAtTheTop() {
    m_frame->scrollToTop();
    for (auto* table : findChildren<QTableView*>()) {
        table->clearSelection();
        table->scrollToTop();
    }
}

void RecordingPage::showLimits() {
    // the share that the status line shows
    const QString missing = m_recording->isImporting() && !m_recording->imported.again
                                ? importingText({m_imported, false})
                                : incompleteText(*m_recording);
    QStringList limits{missing, leftOutText(*m_recording), sharedDeviceText(*m_recording),
                       modelledLinkText(*m_recording)};
    limits.removeAll(QString());
    m_frame->setBanner(limits.join(u' '));
}

/// Hidden pages are not built: a page of a long run takes time.
void RecordingPage::presentOnceSeen() {
    m_isDue = !isVisible();
    if (!m_isDue) present();
}

void RecordingPage::showEvent(QShowEvent* event) {
    Page::showEvent(event);
    if (std::exchange(m_isDue, false) && m_recording) present();
}

}  // namespace shardscope::desktop
