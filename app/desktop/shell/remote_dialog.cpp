#include "app/desktop/shell/remote_dialog.h"

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/format.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kPauseMs = 250;
constexpr QLatin1StringView kScheme{"ssh://"};
constexpr QLatin1StringView kRecordings{".sscope"};

/// Up to the slash behind the host; -1: the host is still being typed.
qsizetype endOfHost(const QString& address) {
    return address.startsWith(kScheme) ? address.indexOf(u'/', kScheme.size()) : -1;
}

QString lineOf(const storage::remote::FolderEntry& entry) {
    const QString name = fromUtf8(entry.name);
    if (entry.isFolder) return name + u'/';
    const QDateTime changed = QDateTime::fromMSecsSinceEpoch(entry.changedNs / 1'000'000);
    return u"%1    %2, %3"_s.arg(
        name, formatBytes(entry.size),
        QLocale(QLocale::English).toString(changed, u"d MMM yyyy, HH:mm"_s));
}

/// What all of them begin with.
QString commonBeginning(const QStringList& names) {
    QString common = names.value(0);
    for (const QString& name : names)
        while (!name.startsWith(common)) common.chop(1);
    return common;
}

}  // namespace

RemoteDialog::RemoteDialog(RecordingLoader& loader, const QString& address, QWidget* parent)
    : QDialog(parent), m_loader(&loader) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Open on another host"));
    setAccessibleName(tr("Open on another host"));
    resize(640, 480);
    buildUp(address.isEmpty() ? QString(kScheme) : address);
    m_pause.setSingleShot(true);
    connect(&m_pause, &QTimer::timeout, this, &RemoteDialog::look);
    connect(m_address, &QLineEdit::textChanged, this, [this] {
        filter();
        m_pause.start(kPauseMs);
    });
    connect(m_list, &QListWidget::itemActivated, this,
            [this](const QListWidgetItem* item) { enter(*item); });
    connect(m_loader, &RecordingLoader::connecting, m_state, &QLabel::setText);
    filter();
    look();
}

RemoteDialog::~RemoteDialog() {
    if (m_loader) m_loader->forgetFolder();
}

void RemoteDialog::buildUp(const QString& address) {
    m_address = new QLineEdit(address, this);
    m_list = new QListWidget(this);
    m_state = quietLabel({}, this);
    m_open = new QPushButton(tr("Open"), this);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    m_address->setPlaceholderText(tr("ssh://host/path/run.sscope"));
    m_address->setAccessibleName(tr("Address of a recording"));
    m_address->installEventFilter(this);
    m_list->setAccessibleName(tr("Folders and recordings there"));
    m_open->setProperty("primary", true);
    m_open->setDefault(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapPage, kGapPage, kGapPage);
    layout->setSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Address"), this));
    layout->addWidget(m_address);
    layout->addWidget(
        quietLabel(tr("The host as ssh knows it; ~ is the home directory there. Tab completes. "
                      "Nothing is copied: the recording is read in place."),
                   this));
    layout->addWidget(m_list, 1);
    layout->addWidget(m_state);
    auto* buttons = new QHBoxLayout;
    buttons->addStretch();
    buttons->addWidget(cancel);
    buttons->addWidget(m_open);
    layout->addLayout(buttons);
    connect(cancel, &QPushButton::clicked, this, &RemoteDialog::reject);
    connect(m_open, &QPushButton::clicked, this, &RemoteDialog::accept);
}

QString RemoteDialog::folderOfAddress() const {
    const QString address = m_address->text();
    const qsizetype host = endOfHost(address);
    return host < 0 ? QString() : address.left(address.lastIndexOf(u'/') + 1);
}

void RemoteDialog::look() {
    const QString folder = folderOfAddress();
    if (!m_loader || folder.isEmpty() || folder == m_asked) return;
    m_asked = folder;
    m_state->setText(tr("Looking at %1").arg(folder));
    m_loader->listFolder(folder, [this, folder](const auto& list) { take(folder, list); });
}

void RemoteDialog::take(const QString& folder, const Result<storage::remote::FolderList>& list) {
    m_listed = folder;
    m_found = list ? *list : storage::remote::FolderList{};
    if (!list) {
        m_asked.clear();  // typing on asks again
        m_state->setText(QString::fromStdString(list.error().message));
    } else if (m_found.entries.empty()) {
        m_state->setText(tr("No recordings and no folders in %1").arg(fromUtf8(m_found.path)));
    } else {
        m_state->setText(
            m_found.whole
                ? fromUtf8(m_found.path)
                : tr("%1: the list is incomplete; type a name").arg(fromUtf8(m_found.path)));
    }
    filter();
}

void RemoteDialog::filter() {
    m_open->setEnabled(m_address->text().endsWith(kRecordings));
    m_list->clear();
    if (folderOfAddress() != m_listed || m_listed.isEmpty()) return;
    const QString begun = m_address->text().mid(m_listed.size());
    for (const storage::remote::FolderEntry& entry : m_found.entries) {
        const QString name = fromUtf8(entry.name);
        if (!name.startsWith(begun)) continue;
        auto* item = new QListWidgetItem(lineOf(entry), m_list);
        item->setData(Qt::UserRole, entry.isFolder ? name + u'/' : name);
    }
}

bool RemoteDialog::complete() {
    QStringList names;
    for (int i = 0; i < m_list->count(); ++i)
        names << m_list->item(i)->data(Qt::UserRole).toString();
    const QString completed = m_listed + commonBeginning(names);
    if (names.isEmpty() || completed == m_address->text()) return false;
    m_address->setText(completed);
    return true;
}

void RemoteDialog::enter(const QListWidgetItem& item) {
    m_address->setText(m_listed + item.data(Qt::UserRole).toString());
    if (m_open->isEnabled()) accept();
}

void RemoteDialog::accept() {
    if (m_address->text().endsWith(kRecordings)) {
        Q_EMIT chosen(m_address->text());
        close();
    } else if (m_list->currentItem() != nullptr) {
        enter(*m_list->currentItem());
    } else {
        look();
    }
}

bool RemoteDialog::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        // what is whole already lets the focus go on
        if (key == Qt::Key_Tab && complete()) return true;
        if (key == Qt::Key_Down && m_list->count() > 0) {
            m_list->setFocus();
            m_list->setCurrentRow(0);
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

}  // namespace shardscope::desktop
