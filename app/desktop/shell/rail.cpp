#include "app/desktop/shell/rail.h"

#include "app/desktop/widgets/icon.h"
#include "app/desktop/widgets/theme.h"

#include <QAbstractButton>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kWidth = 84;
constexpr int kHeight = 60;
constexpr int kLeastHeight = 28;  ///< in low windows: of 15 pages within 560 pixels
constexpr int kNamed = 42;        ///< lower buttons have no room for their names
constexpr int kDrawn = 40;        ///< of a button: icon and name
constexpr int kIcon = 20;

class RailButton : public QAbstractButton {
public:
    RailButton(const QString& icon, const QString& name, QWidget* parent)
        : QAbstractButton(parent), m_icon(icon) {
        setText(name);
        setAccessibleName(name);
        setCheckable(true);
        setFixedWidth(kWidth);
        setMinimumHeight(kLeastHeight);
        setMaximumHeight(kHeight);
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
        setFocusPolicy(Qt::TabFocus);
    }

    [[nodiscard]] QSize sizeHint() const override { return {kWidth, kHeight}; }
    /// Marks that its page stands beside the others, or in a separate window.
    void setApart(bool apart) {
        m_apart = apart;
        setAccessibleDescription(apart ? Rail::tr("out of the middle") : QString());
        update();
    }

protected:
    void enterEvent(QEnterEvent*) override { update(); }
    void leaveEvent(QEvent*) override { update(); }
    void paintEvent(QPaintEvent*) override {
        const Theme& theme = Theme::of(this);
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        if (isChecked()) {
            painter.fillRect(rect(), theme.window);
            painter.fillRect(QRect(0, 0, 3, height()), theme.accent);
        } else if (underMouse()) {
            painter.fillRect(rect(), theme.neutral);
        }
        const QColor colour = isChecked()    ? theme.accent
                              : underMouse() ? theme.text
                                             : theme.quietText;
        const bool named = static_cast<const Rail*>(parentWidget())->hasNames();
        const double top = (height() - (named ? kDrawn : kIcon)) / 2.0;
        painter.drawPixmap(QPointF((width() - kIcon) / 2.0, top),
                           iconPixmap(m_icon, colour, kIcon, devicePixelRatioF()));
        if (m_apart)
            painter.drawPixmap(QPointF(width() - 20, top - 2),
                               iconPixmap(u"apart"_s, colour, 12, devicePixelRatioF()));
        painter.setPen(colour);
        const auto weight = isChecked() ? QFont::DemiBold : QFont::Normal;
        int pixels = 11;
        const auto wide = [&] {
            return QFontMetricsF(textFont(pixels, weight)).horizontalAdvance(text());
        };
        while (pixels > 9 && wide() > width() - 6) --pixels;
        painter.setFont(textFont(pixels, weight));
        if (named) painter.drawText(QRectF(0, top + 24, width(), 18), Qt::AlignCenter, text());
        if (hasFocus()) {
            painter.setPen(QPen(theme.accent, 1));
            painter.setBrush(Qt::NoBrush);
            painter.drawRoundedRect(QRectF(rect()).adjusted(4.5, 3.5, -4.5, -3.5), kCornerRadius,
                                    kCornerRadius);
        }
    }

private:
    QString m_icon;
    bool m_apart = false;
};

}  // namespace

Rail::Rail(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this)), m_group(this) {
    setFixedWidth(kWidth + 1);
    setAccessibleName(tr("Pages"));
    m_layout->setContentsMargins(0, kGap, 1, kGap);
    m_layout->setSpacing(0);
    m_layout->addStretch();
}

void Rail::addPage(const QString& id, const QString& icon, const QString& name,
                   const QString& key) {
    auto* button = new RailButton(icon, name, this);
    button->setObjectName(id);
    button->setToolTip(key.isEmpty() ? name : u"%1 (%2)"_s.arg(name, key));
    m_group.addButton(button);
    m_layout->insertWidget(m_layout->count() - 1, button);
    connect(button, &QAbstractButton::clicked, this, [this, id] { Q_EMIT pageChosen(id); });
    button->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(button, &QWidget::customContextMenuRequested, this,
            [this, id, button](QPoint at) { Q_EMIT placesRequested(id, button->mapToGlobal(at)); });
}

/// All or none: rows of one layout differ by a pixel. Without, tool tips say them.
bool Rail::hasNames() const {
    const auto buttons = m_group.buttons();
    return std::all_of(buttons.begin(), buttons.end(),
                       [](const QAbstractButton* button) { return button->height() >= kNamed; });
}

int Rail::pageCount() const {
    return static_cast<int>(m_group.buttons().size());
}

void Rail::setApart(const QStringList& ids) {
    const auto buttons = m_group.buttons();
    for (QAbstractButton* button : buttons)
        static_cast<RailButton*>(button)->setApart(ids.contains(button->objectName()));
}

void Rail::setCurrent(const QString& id) {
    const auto buttons = m_group.buttons();
    for (QAbstractButton* button : buttons) {
        if (button->objectName() == id) button->setChecked(true);
    }
}

void Rail::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.fillRect(QRect(width() - 1, 0, 1, height()), theme.hairline);
}

}  // namespace shardscope::desktop
