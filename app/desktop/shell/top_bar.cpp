#include "app/desktop/shell/top_bar.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

TopBar::TopBar(QWidget* parent)
    : QWidget(parent),
      m_title(new QLabel(this)),
      m_selection(new QPushButton(this)),
      m_open(tool(tr("Open a recording (Ctrl+O)"))),
      m_back(tool(tr("Page or selection before (Alt+Left)"))),
      m_forward(tool(tr("Page or selection after (Alt+Right)"))),
      m_theme(tool(tr("Light or dark (Ctrl+T)"))),
      m_keys(tool(tr("Keys (?)"))),
      m_menu(tool(tr("Menu of all commands (F10)"))),
      m_problems(new QPushButton(this)) {
    setFixedHeight(44);
    m_title->setFont(textFont(kTextPixels, QFont::DemiBold));
    m_selection->setLayoutDirection(Qt::RightToLeft);  // the cross stands behind the words
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(kGapPage, 0, kGapGroup, 1);
    layout->setSpacing(kGap);
    layout->addWidget(m_title);
    layout->addWidget(m_open);
    layout->addSpacing(kGap);
    layout->addWidget(m_selection);
    layout->addWidget(m_back);
    layout->addWidget(m_forward);
    layout->addStretch();
    layout->addWidget(m_problems);
    layout->addWidget(m_theme);
    layout->addWidget(m_keys);
    layout->addWidget(m_menu);
    connect(m_open, &QToolButton::clicked, this, &TopBar::openRequested);
    connect(m_selection, &QPushButton::clicked, this, &TopBar::clearRequested);
    connect(m_back, &QToolButton::clicked, this, &TopBar::backRequested);
    connect(m_forward, &QToolButton::clicked, this, &TopBar::forwardRequested);
    connect(m_problems, &QPushButton::clicked, this, &TopBar::problemsRequested);
    connect(m_theme, &QToolButton::clicked, this, &TopBar::themeToggled);
    connect(m_keys, &QToolButton::clicked, this, &TopBar::keysRequested);
    connect(m_menu, &QToolButton::clicked, this, &TopBar::menuRequested);
    setHistory(false, false);
    setProblems(0);
    setSelection({}, false);
    setTitle(tr("Shardscope"), {});
    retint();
}

QToolButton* TopBar::tool(const QString& name) {
    auto* button = new QToolButton(this);
    button->setToolTip(name);
    button->setAccessibleName(name);
    button->setIconSize({16, 16});
    return button;
}

void TopBar::setTitle(const QString& title, const QString& tip) {
    m_titleText = title;
    m_titleTip = tip;
    fit();
}

void TopBar::setSelection(const QString& text, bool clearable) {
    m_clearable = clearable;
    m_selection->setVisible(!text.isEmpty());
    m_selectionText = text;
    m_selection->setAccessibleName(tr("Selection: %1").arg(text));
    m_selection->setEnabled(clearable);
    fit();
    retint();
}

void TopBar::setHistory(bool canGoBack, bool canGoForward) {
    m_back->setEnabled(canGoBack);
    m_forward->setEnabled(canGoForward);
    retint();
}

void TopBar::setProblems(int count) {
    m_problems->setVisible(count > 0);
    m_problems->setText(tr("%n problem(s)", nullptr, count));
    if (count == 1) m_problems->setText(tr("1 problem"));
    if (count > 1) m_problems->setText(tr("%1 problems").arg(count));
    m_problems->setAccessibleName(m_problems->text());
    fit();
}

QPoint TopBar::menuCorner(QSize menu) const {
    return m_menu->mapToGlobal(QPoint(m_menu->width() - menu.width(), m_menu->height()));
}

void TopBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void TopBar::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    fit();
}

void TopBar::fit() {
    static constexpr int kLeast = 72;
    m_title->setText(m_titleText);
    m_title->setToolTip(m_titleTip);
    m_selection->setText(m_selectionText);
    const QString what = tr("The selection that applies to all pages; click to clear it");
    m_selection->setToolTip(what);
    if (!isVisible()) return;
    const int over = layout()->sizeHint().width() - width();
    if (over <= 0) return;
    m_title->setToolTip((m_titleText + u'\n' + m_titleTip).trimmed());
    m_selection->setToolTip(m_selectionText + u'\n' + what);
    const auto shorten = [over](const QFont& font, const QString& text) {
        const QFontMetrics metrics(font);
        const int room = std::max(kLeast, metrics.horizontalAdvance(text) - (over + 1) / 2);
        return metrics.elidedText(text, Qt::ElideRight, room);
    };
    m_title->setText(shorten(m_title->font(), m_titleText));
    m_selection->setText(shorten(m_selection->font(), m_selectionText));
}

void TopBar::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) retint();
}

void TopBar::retint() {
    const Theme& theme = Theme::of(this);
    m_open->setIcon(tintedIcon(u"open"_s, theme.quietText));
    m_back->setIcon(tintedIcon(u"back"_s, m_back->isEnabled() ? theme.text : theme.quietText));
    m_forward->setIcon(
        tintedIcon(u"forward"_s, m_forward->isEnabled() ? theme.text : theme.quietText));
    m_theme->setIcon(tintedIcon(u"theme"_s, theme.quietText));
    m_keys->setIcon(tintedIcon(u"help"_s, theme.quietText));
    m_menu->setIcon(tintedIcon(u"menu"_s, theme.quietText));
    m_problems->setIcon(tintedIcon(u"warning"_s, theme.warning));
    m_selection->setIcon(m_clearable ? tintedIcon(u"close"_s, theme.quietText, 12) : QIcon());
    m_selection->setIconSize({12, 12});
}

void TopBar::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.window);
    painter.fillRect(QRect(0, height() - 1, width(), 1), theme.hairline);
}

}  // namespace shardscope::desktop
