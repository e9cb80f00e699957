#include "app/desktop/pages/timeline/tables/find_bar.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

QToolButton* textButton(const QString& text, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setText(text);
    button->setToolTip(name);
    button->setAccessibleName(name);
    return button;
}

}  // namespace

FindBar::FindBar(QWidget* parent)
    : QWidget(parent),
      m_text(new QLineEdit(this)),
      m_pattern(new QCheckBox(tr("Regular expression"), this)),
      m_status(quietLabel({}, this)) {
    m_text->setPlaceholderText(tr("Find in names and arguments"));
    m_text->setAccessibleName(tr("Find in names and arguments"));
    m_status->setWordWrap(false);
    m_status->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* back = textButton(u"↑"_s, tr("Previous match (Shift+Enter)"), this);
    auto* forward = textButton(u"↓"_s, tr("Next match (Enter)"), this);
    auto* end = textButton(u"✕"_s, tr("Close (Esc)"), this);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    layout->addWidget(m_text, 2);
    layout->addWidget(back);
    layout->addWidget(forward);
    layout->addWidget(m_pattern);
    layout->addWidget(m_status, 2);
    layout->addWidget(end);
    connect(m_text, &QLineEdit::textChanged, this, &FindBar::change);
    connect(m_pattern, &QCheckBox::toggled, this, &FindBar::change);
    connect(back, &QToolButton::clicked, this, [this] { Q_EMIT stepRequested(-1); });
    connect(forward, &QToolButton::clicked, this, [this] { Q_EMIT stepRequested(1); });
    connect(end, &QToolButton::clicked, this, &FindBar::close);
    m_text->installEventFilter(this);
    hide();
}

void FindBar::open() {
    show();
    m_text->setFocus();
    m_text->selectAll();
}

void FindBar::close() {
    hide();
    Q_EMIT closed();
}

SearchText FindBar::search() const {
    return {m_text->text(), m_pattern->isChecked()};
}

void FindBar::setText(const QString& text) {
    m_text->setText(text);
}

void FindBar::change() {
    const QString error = search().error();
    m_text->setProperty("invalid", !error.isEmpty());
    m_text->setStyleSheet(m_text->styleSheet());
    m_status->setText(error);
    Q_EMIT searchChanged();
}

void FindBar::showResult(const SearchResult& result, int current, const QString& where) {
    const QString count = formatCount(static_cast<std::int64_t>(result.count));
    QString text = result.count == 0 ? tr("no match") : tr("%1 matches").arg(count);
    if (result.count == 1) text = tr("1 match");
    if (current >= 0) text = tr("%1 of %2").arg(formatCount(current + 1), count);
    if (!where.isEmpty()) text += u" · "_s + where;
    if (!result.isComplete())
        text += tr(" · searched %1").arg(formatPercent(result.done));
    else if (result.argumentsLeftOut)
        text += tr(" · arguments of this host's events are not searched");
    m_status->setText(text);
    m_status->setToolTip(text);
}

void FindBar::showNothing() {
    m_status->setText(search().error());
}

QString FindBar::status() const {
    return m_status->text();
}

bool FindBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool back = key->modifiers().testFlag(Qt::ShiftModifier);
    switch (key->key()) {
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_F3:
            Q_EMIT stepRequested(back ? -1 : 1);
            return true;
        case Qt::Key_Escape:
            close();
            return true;
        default:
            return QWidget::eventFilter(watched, event);
    }
}

}  // namespace shardscope::desktop
