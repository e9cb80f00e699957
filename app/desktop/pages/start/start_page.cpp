#include "app/desktop/pages/start/start_page.h"

#include "app/desktop/pages/start/recent_list.h"
#include "app/desktop/widgets/states.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/recording/remote/remote_address.h"

#include <QDateTime>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

PageEntry StartPage::entry() {
    return {page_ids::kStart, u"start"_s, tr("Start"),
            [](PageContext& context, QWidget* parent) -> Page* {
                return new StartPage(context, parent);
            }};
}

StartPage::StartPage(PageContext& context, QWidget* parent)
    : Page(parent),
      m_recent(context.recentFile),
      m_banner(new Banner(this)),
      m_list(new RecentList(this)) {
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
    left->addWidget(sectionLabel(tr("Recent recordings"), this));
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->viewport()->setAutoFillBackground(false);
    auto* holder = new QWidget(scroll);
    auto* holderLayout = new QVBoxLayout(holder);
    holderLayout->setContentsMargins(0, 0, 0, 0);
    holderLayout->addWidget(m_list);
    holderLayout->addStretch();
    scroll->setWidget(holder);
    holder->setAutoFillBackground(false);
    left->addWidget(scroll, 1);
    columns->addLayout(left, 1);
    columns->addWidget(buildActions(this));
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
    connect(m_list, &RecentList::removeRequested, &m_recent, &RecentFiles::remove);
    follow(context.loader, context.remembers);
}

void StartPage::follow(RecordingLoader& loader, bool remembers) {
    connect(&loader, &RecordingLoader::opening, this, [this] { m_banner->setText({}); });
    connect(&loader, &RecordingLoader::openFailed, this,
            [this](const QString&, const QString& message) { m_banner->setText(message); });
    if (!remembers) return;
    connect(&loader, &RecordingLoader::opened, this, [this](const RecordingPtr& recording) {
        m_recent.add(*recording, QDateTime::currentDateTime().toString(Qt::ISODate));
    });
}

QWidget* StartPage::buildActions(QWidget* parent) {
    auto* side = new QWidget(parent);
    side->setFixedWidth(296);
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
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("Open"), side));
    auto* open = new QPushButton(tr("Open a recording…"), side);
    connect(open, &QPushButton::clicked, this, &StartPage::openRequested);
    layout->addWidget(open);
    auto* remote = new QPushButton(tr("Open on another host…"), side);
    connect(remote, &QPushButton::clicked, this, &StartPage::remoteRequested);
    layout->addWidget(remote);
    layout->addWidget(quietLabel(tr("Ctrl+O, or drop an .sscope file anywhere. A run that is still "
                                    "being recorded opens too."),
                                 side));
    layout->addSpacing(kGapGroup);
    layout->addWidget(sectionLabel(tr("On the command line"), side));
    auto* command =
        codeLabel(tr("shardscope record --ranks 2 \\\n    --data texts --output run.sscope"), side);
    command->setWordWrap(false);
    layout->addWidget(command);
    layout->addWidget(quietLabel(
        tr("writes the same recording without a window; shardscope report explains it."), side));
    layout->addStretch();
    return side;
}

}  // namespace shardscope::desktop
