#include "app/desktop/pages/start/recent_list.h"

#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"
#include "storage/recording/remote/remote_address.h"

#include <QApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 64;
constexpr int kTrend = 120;

QString whenText(const QString& iso) {
    const QDateTime when = QDateTime::fromString(iso, Qt::ISODate);
    return when.isValid() ? QLocale(QLocale::English).toString(when, u"d MMM yyyy, HH:mm"_s)
                          : QString();
}

class RecentRow : public QAbstractButton {
public:
    RecentRow(RecentFile file, QWidget* parent) : QAbstractButton(parent), m_file(std::move(file)) {
        m_remote = storage::remote::isRemote(m_file.path.toStdString());
        // whether it is still there, its host says when it is opened
        m_exists = m_remote || QFileInfo::exists(m_file.path);
        setFixedHeight(kRow);
        setCursor(Qt::PointingHandCursor);
        setFocusPolicy(Qt::StrongFocus);
        setToolTip(m_file.path + u'\n' + m_file.title);
        setAccessibleName(u"%1, %2"_s.arg(QFileInfo(m_file.path).fileName(),
                                          m_exists ? m_file.title : tr("not found")));
    }
    [[nodiscard]] QSize sizeHint() const override { return {480, kRow}; }
    void setMarked(bool marked) {
        m_marked = marked;
        setAccessibleDescription(marked ? tr("marked, to be compared") : QString());
        update();
    }

protected:
    void enterEvent(QEnterEvent*) override { update(); }
    void leaveEvent(QEvent*) override { update(); }
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        if (underMouse() || hasFocus() || m_marked) {
            painter.setPen(hasFocus() || m_marked ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
            painter.setBrush(theme.panel);
            painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius,
                                    kCornerRadius);
        }
        painter.setBrush(Qt::NoBrush);
        const double inset = 12;
        const double right = width() - inset;
        const bool wide = width() > 520;
        if (wide && m_exists)
            paintSparkline(painter, QRectF(right - kTrend, 16, kTrend, 32), m_file.loss,
                           theme.accent);
        const double words = right - (wide ? kTrend + 24 : 0);
        painter.setPen(m_exists ? theme.text : theme.quietText);
        painter.setFont(textFont(kTextPixels, QFont::DemiBold));
        painter.drawText(QRectF(inset, 8, words - inset, 20), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetrics(painter.font())
                             .elidedText(QFileInfo(m_file.path).fileName(), Qt::ElideMiddle,
                                         static_cast<int>(words - inset)));
        painter.setPen(theme.quietText);
        painter.setFont(textFont(kSmallPixels));
        QStringList facts{m_file.title};
        if (!m_file.throughput.isEmpty()) facts << m_file.throughput;
        facts << (m_file.recorded.isEmpty() ? tr("opened %1").arg(whenText(m_file.opened))
                                            : tr("recorded %1").arg(whenText(m_file.recorded)));
        const QString line = m_exists
                                 ? facts.join(u" · "_s)
                                 : tr("Not found any more: moved or deleted. Click to locate it…");
        drawTabular(painter, QRectF(inset, 28, words - inset, 16), Qt::AlignLeft,
                    QFontMetricsF(painter.font()).elidedText(line, Qt::ElideRight, words - inset));
        drawTabular(
            painter, QRectF(inset, 44, words - inset, 14), Qt::AlignLeft,
            QFontMetrics(painter.font())
                .elidedText(folderText(), Qt::ElideMiddle, static_cast<int>(words - inset)));
    }

private:
    [[nodiscard]] QString folderText() const {
        return m_remote ? m_file.path.left(m_file.path.lastIndexOf(u'/'))
                        : QFileInfo(m_file.path).absolutePath();
    }

    RecentFile m_file;
    bool m_remote = false;
    bool m_exists = false;
    bool m_marked = false;
};

}  // namespace

RecentList::RecentList(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this)) {
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(0);
}

void RecentList::setFiles(const std::vector<RecentFile>& files) {
    while (QLayoutItem* item = m_layout->takeAt(0)) {
        if (item->widget() != nullptr) item->widget()->deleteLater();
        delete item;
    }
    if (files.empty()) {
        m_layout->addWidget(
            quietLabel(tr("Recordings you open or make are listed here, with their loss curve. "
                          "Drop recordings or traces anywhere in this window to open them."),
                       this));
    }
    m_files.clear();
    for (const RecentFile& file : files) m_files << file.path;
    m_marked.removeIf([this](const QString& path) { return !m_files.contains(path); });
    for (const RecentFile& file : files) {
        auto* row = new RecentRow(file, this);
        row->setMarked(m_marked.contains(file.path));
        connect(row, &QAbstractButton::clicked, this, [this, row, path = file.path] {
            if (!QApplication::keyboardModifiers().testFlag(Qt::ControlModifier))
                return void(Q_EMIT chosen(path));
            const bool marks = !m_marked.contains(path);
            if (marks)
                m_marked << path;
            else
                m_marked.removeAll(path);
            row->setMarked(marks);
            Q_EMIT markedChanged();
        });
        row->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(row, &QWidget::customContextMenuRequested, this,
                [this, row, path = file.path](QPoint at) { showMenu(path, row->mapToGlobal(at)); });
        m_layout->addWidget(row);
        m_layout->addWidget(hairline(this));
    }
}

QStringList RecentList::marked() const {
    QStringList marked;
    for (const QString& path : m_files)
        if (m_marked.contains(path)) marked << path;
    return marked;
}

/// Not the row's: rows go when a recording that is on its way has come.
void RecentList::showMenu(const QString& path, QPoint at) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Compare the open recording with it"), this,
                    [this, path] { Q_EMIT compareRequested(path); });
    menu->addAction(tr("Remove from this list"), this,
                    [this, path] { Q_EMIT removeRequested(path); });
    menu->popup(at);
}

}  // namespace shardscope::desktop
