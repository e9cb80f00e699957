#include "app/desktop/pages/start/start_page.h"

#include "app/desktop/models/kept_views.h"
#include "app/desktop/models/write_file.h"
#include "app/desktop/pages/choose_recordings.h"
#include "app/desktop/pages/start/recent_list.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "engine/run/config/run_config.h"
#include "storage/recording/remote/remote_address.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <utility>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

namespace {

constexpr int kSampleLines = 2000;

QScrollArea* scrolling(QWidget* content, QWidget* parent) {
    auto* area = new QScrollArea(parent);
    area->setFocusPolicy(Qt::NoFocus);  // what it holds has the focus, and is scrolled to
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->viewport()->setAutoFillBackground(false);
    area->setWidget(content);
    content->setAutoFillBackground(false);
    return area;
}

}  // namespace

PageEntry StartPage::entry() {
    return {page_ids::kStart, u"start"_s, tr("Start"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new StartPage(context, parent);
            }};
}

StartPage::StartPage(PageContext& context, QWidget* parent)
    : Page(parent),
      m_compared(context.compared),
      m_recent(context.recentFile),
      m_banner(new Banner(this)),
      m_list(new RecentList(this)),
      m_continue(buildContinue(context.settingsFile, this)),
      m_recordings(context.recordingsFolder) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, 20, kGapPage, kGapGroup);
    layout->setSpacing(kGapGroup);
    auto* words = new QVBoxLayout;
    words->setSpacing(kGapSmall);
    words->addWidget(headlineLabel(
        tr("Train a transformer on several ranks and see where time and memory go."), this));
    auto* subline = quietLabel(tr("Start a run, or open a recording of one."), this);
    subline->setFont(textFont(kTextPixels));
    words->addWidget(subline);
    layout->addLayout(words);
    layout->addWidget(m_banner);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(32);
    auto* left = new QVBoxLayout;
    left->setSpacing(kGap);
    if (m_continue != nullptr) left->addWidget(m_continue);
    left->addWidget(sectionLabel(tr("Recent recordings"), this));
    auto* holder = new QWidget(this);
    auto* holderLayout = new QVBoxLayout(holder);
    holderLayout->setContentsMargins(0, 0, 0, 0);
    holderLayout->addWidget(m_list);
    holderLayout->addStretch();
    left->addWidget(scrolling(holder, this), 1);
    columns->addLayout(left, 1);
    QScrollArea* actions = scrolling(buildActions(this), this);
    actions->setFixedWidth(actions->widget()->width() + kGapGroup);
    columns->addWidget(actions);
    layout->addLayout(columns, 1);

    m_list->setFiles(m_recent.files());
    connect(&m_recent, &RecentFiles::changed, this, [this] { m_list->setFiles(m_recent.files()); });
    connect(m_list, &RecentList::chosen, this, [this](const QString& path) {
        if (storage::remote::isRemote(path.toStdString()) || QFileInfo::exists(path)) {
            Q_EMIT fileRequested(path);
        } else {
            Q_EMIT openRequested();
        }
    });
    connect(m_list, &RecentList::compareRequested, this, [this](const QString& path) {
        m_compared.add(path);
        Q_EMIT pageRequested(page_ids::kCompare);
    });
    connect(m_list, &RecentList::removeRequested, &m_recent, &RecentFiles::remove);
    follow(context.loader, context.remembers);
    if (context.remembers) follow(context.session);
}

void StartPage::follow(RecordingLoader& loader, bool remembers) {
    connect(&loader, &RecordingLoader::opening, this, [this] { m_banner->setText({}); });
    connect(&loader, &RecordingLoader::opened, this, [this] {
        if (m_continue != nullptr) m_continue->hide();
    });
    connect(&loader, &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) { m_banner->setText(message); });
    if (!remembers) return;
    const auto remember = [this](const RecordingPtr& recording) {
        m_recent.add(*recording, QDateTime::currentDateTime().toString(Qt::ISODate));
    };
    // of an import once it has ended well
    connect(&loader, &RecordingLoader::opened, this,
            [this, remember](const RecordingPtr& recording) {
                m_isImporting = recording->isImporting();
                if (!m_isImporting) remember(recording);
            });
    connect(
        &loader, &RecordingLoader::grown, this, [this, remember](const RecordingPtr& recording) {
            if (std::exchange(m_isImporting, recording->isImporting()) && !recording->isImporting())
                remember(recording);
        });
}

void StartPage::follow(RecorderSession& session) {
    connect(&session, &RecorderSession::started, this, [this](const run::RunStarted& started) {
        m_recent.add(started, QDateTime::currentDateTime().toString(Qt::ISODate));
    });
}

/// A new run, so that what is shown was measured on this machine.
void StartPage::makeSample() {
    const QDir folder(m_recordings);
    const QString text = folder.filePath(u"sample.txt"_s);
    QByteArray lines;
    for (int line = 0; line < kSampleLines; ++line)
        lines += tr("Rank %1 waits for rank %2, and then both of them go on to step %3.\n")
                     .arg(line % 7)
                     .arg((line + 3) % 7)
                     .arg(line)
                     .toUtf8();
    folder.mkpath(u"."_s);
    if (const auto written = writeText(text, lines); !written) {
        m_banner->setText(QString::fromStdString(written.error().message));
        return;
    }
    const QString output = folder.filePath(
        u"sample-%1.sscope"_s.arg(QDateTime::currentDateTime().toString(u"yyyyMMdd-hhmmss"_s)));
    run::RunConfig config;
    config.output = output.toStdString();
    config.model = *run::findModelPreset("tiny");  // what the run is called until it says so itself
    Q_EMIT runRequested(config, {u"--model"_s, u"tiny"_s, u"--vocabulary"_s, u"256"_s,
                                 u"--strategy"_s, u"zero3"_s, u"--ranks"_s, u"2"_s, u"--steps"_s,
                                 u"40"_s, u"--data"_s, text, u"--output"_s, output});
}

void StartPage::compareTwo() {
    if (const QStringList marked = m_list->marked(); marked.size() > 1) return compare(marked);
    chooseRecordings(this, tr("Compare two recordings or more"),
                     [this](const QStringList& files) { compare(files); });
}

void StartPage::compare(const QStringList& paths) {
    if (paths.size() < 2) {
        m_banner->setText(tr("A comparison takes two recordings or more: choose them together."));
        return;
    }
    m_compared.set(paths.mid(1));
    Q_EMIT fileRequested(paths.front());
    Q_EMIT pageRequested(page_ids::kCompare);
}

QWidget* StartPage::buildContinue(const QString& settingsFile, QWidget* parent) {
    const auto last = lastSession(settingsFile);
    if (!last) return nullptr;
    const QString first = last->address.section(u'\n', 0, 0);
    // whether it is still there, another host says when it is opened
    if (!storage::remote::isRemote(first.toStdString()) && !QFileInfo::exists(first))
        return nullptr;
    auto* block = new QWidget(parent);
    auto* layout = new QHBoxLayout(block);
    layout->setContentsMargins(0, 0, 0, kGapGroup);
    layout->setSpacing(kGap);
    auto* button = new QPushButton(tr("Continue with %1").arg(last->name), block);
    button->setToolTip(first);
    button->setAccessibleDescription(last->what);
    connect(button, &QPushButton::clicked, this, &StartPage::continueRequested);
    layout->addWidget(button);
    layout->addWidget(quietLabel(last->what, block), 1);
    return block;
}

QWidget* StartPage::buildActions(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setFixedWidth(296);  // what a low window cannot hold scrolls
    auto* layout = new QVBoxLayout(side);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(sectionLabel(tr("New"), side));
    auto* newRun = new QPushButton(tr("New run…"), side);
    newRun->setProperty("primary", true);
    connect(newRun, &QPushButton::clicked, this,
            [this] { Q_EMIT pageRequested(page_ids::kNewRun); });
    layout->addWidget(newRun);
    layout->addWidget(quietLabel(
        tr("Choose model, strategy and data; see the memory it will need before it starts."),
        side));
    auto* sample = new QPushButton(tr("Make a sample recording"), side);
    connect(sample, &QPushButton::clicked, this, &StartPage::makeSample);
    layout->addWidget(sample);
    layout->addWidget(quietLabel(
        tr("Trains a very small model on two ranks for a second or two, here and now."), side));
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("Open"), side));
    auto* open = new QPushButton(tr("Open a recording or traces…"), side);
    connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
    layout->addWidget(open);
    auto* folder = new QPushButton(tr("Import a folder of traces…"), side);
    connect(folder, &QPushButton::clicked, this, &StartPage::folderRequested);
    layout->addWidget(folder);
    auto* remote = new QPushButton(tr("Open on another host…"), side);
    connect(remote, &QPushButton::clicked, this, &StartPage::remoteRequested);
    layout->addWidget(remote);
    layout->addWidget(quietLabel(
        tr("Ctrl+O, or drop files anywhere: recordings, also of a run that is going on; traces of "
           "the PyTorch profiler, Nsight Systems, Perfetto and others, one per rank or a folder of "
           "them; memory snapshots."),
        side));
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("Compare"), side));
    auto* both = new QPushButton(tr("Compare two recordings…"), side);
    both->setToolTip(tr("The first is the baseline. Ctrl+click marks rows of the list for it."));
    connect(both, &QPushButton::clicked, this, &StartPage::compareTwo);
    layout->addWidget(both);
    auto* what = quietLabel(tr("Choose two or more, or Ctrl+click rows of the list."), side);
    connect(m_list, &RecentList::markedChanged, what, [this, what] {
        const auto count = m_list->marked().size();
        what->setText(count == 0   ? tr("Choose two or more, or Ctrl+click rows of the list.")
                      : count == 1 ? tr("One row is marked; Ctrl+click another.")
                                   : tr("%1 rows are marked: these are compared.").arg(count));
    });
    layout->addWidget(what);
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("On the command line"), side));
    auto* command =
        codeLabel(u"shardscope record --ranks 2 \\\n    --data texts --output run.sscope"_s, side);
    command->setWordWrap(false);
    layout->addWidget(command);
    layout->addWidget(quietLabel(
        tr("writes the same recording without a window; shardscope report explains it."), side));
    layout->addStretch();
    return side;
}

}  // namespace shardscope::desktop
