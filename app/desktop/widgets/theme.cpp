#include "app/desktop/widgets/theme.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QFontDatabase>
#include <QFontInfo>
#include <QFontMetrics>
#include <QLabel>
#include <QObject>
#include <QProxyStyle>
#include <QRect>
#include <QScreen>
#include <QStringList>
#include <QStyle>
#include <QWidget>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

double luminance(const QColor& colour) {
    const auto linear = [](double channel) {
        return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

constexpr int kTipWidth = 480;
constexpr QLatin1StringView kTipLines{"tip lines"}, kWheelGuard{"wheel guard"};

/// Qt leaves a plain tooltip on one line as long as a screen has room for it.
class TipLines : public QObject {
public:
    explicit TipLines(QLabel* tip) : QObject(tip) { tip->installEventFilter(this); }
    bool eventFilter(QObject* watched, QEvent* event) override {
        if (event->type() == QEvent::Resize || event->type() == QEvent::Show)
            fit(*static_cast<QLabel*>(watched));
        return QObject::eventFilter(watched, event);
    }

private:
    static QString lines(const QString& text, const QFontMetrics& metrics) {
        QStringList all;
        for (const QString& whole : text.split(u'\n')) {
            QString line;
            for (const QString& word : whole.split(u' ')) {
                const QString longer = line.isEmpty() ? word : line + u' ' + word;
                if (!line.isEmpty() && metrics.horizontalAdvance(longer) > kTipWidth) {
                    all << line;
                    line = word;
                } else {
                    line = longer;
                }
            }
            all << line;
        }
        return all.join(u'\n');
    }
    static void fit(QLabel& tip) {
        const QString text = lines(tip.text(), tip.fontMetrics());
        if (text == tip.text()) return;
        tip.setWordWrap(false);
        tip.setText(text);
        tip.resize(tip.sizeHint() + QSize(1, 0));
        const QRect room = tip.screen()->availableGeometry();
        tip.move(std::max(room.left(), std::min(tip.x(), room.right() - tip.width())),
                 std::max(room.top(), std::min(tip.y(), room.bottom() - tip.height())));
    }
};

/// The wheel scrolls the page over an input that does not have the focus, instead of changing it.
class WheelGuard : public QObject {
public:
    explicit WheelGuard(QWidget* input) : QObject(input), m_input(input) {
        input->installEventFilter(this);
    }

    bool eventFilter(QObject* object, QEvent* event) override {
        if (event->type() != QEvent::Wheel || m_input->hasFocus())
            return QObject::eventFilter(object, event);
        event->ignore();  // goes on to the page
        return true;
    }

private:
    QWidget* m_input;
};

/// Qt takes what looks like HTML for it. A tool tip is a label, polished before it has its text.
class PlainTextStyle : public QProxyStyle {
public:
    PlainTextStyle() : QProxyStyle(u"Fusion"_s) {}
    using QProxyStyle::polish;
    void polish(QWidget* widget) override {
        if (auto* label = qobject_cast<QLabel*>(widget)) {
            label->setTextFormat(Qt::PlainText);
            if (label->inherits("QTipLabel") && label->findChild<QObject*>(kTipLines) == nullptr)
                (new TipLines(label))->setObjectName(kTipLines);
        }
        if (qobject_cast<QComboBox*>(widget) || qobject_cast<QAbstractSpinBox*>(widget)) {
            if (widget->focusPolicy() == Qt::WheelFocus) widget->setFocusPolicy(Qt::StrongFocus);
            if (widget->findChild<QObject*>(kWheelGuard) == nullptr)
                (new WheelGuard(widget))->setObjectName(kWheelGuard);
        }
        QProxyStyle::polish(widget);
    }
};

Fill plainFill(Meaning meaning, const Theme& theme) {
    switch (meaning) {
        case Meaning::kCompute:
            return {QColor(0x00, 0x72, 0xB2)};
        case Meaning::kGather:
            return {QColor(0xE6, 0x9F, 0x00)};
        case Meaning::kReduction:
            return {QColor(0xD5, 0x5E, 0x00)};
        case Meaning::kAllReduce:
            return {QColor(0x98, 0x4D, 0x77)};
        case Meaning::kOtherCollective:
            return {QColor(0xCC, 0x79, 0xA7)};
        case Meaning::kCopy:
            return {QColor(0x00, 0x9E, 0x73)};
        case Meaning::kOptimizer:
            return {QColor(0xF0, 0xE4, 0x42)};
        case Meaning::kActivation:
            return {QColor(0x56, 0xB4, 0xE9)};
        case Meaning::kHost:
            return {QColor(0x8A, 0x92, 0x9C)};
        case Meaning::kGradientShard:
            return {QColor(0xA6, 0x4B, 0x12)};
        case Meaning::kEvaluation:
            return {QColor(0x7F, 0xB2, 0xD6)};
        case Meaning::kIdle:
            return {theme.dark ? QColor(0x5B, 0x64, 0x70) : QColor(0xC3, 0xC9, 0xD1)};
        case Meaning::kOutside:
            return {theme.dark ? QColor(0xB4, 0xBB, 0xC4) : QColor(0x5A, 0x62, 0x6C)};
        case Meaning::kWaitGather:
            return {QColor(0xE6, 0x9F, 0x00), true};
        case Meaning::kWaitReduction:
            return {QColor(0xD5, 0x5E, 0x00), true};
        case Meaning::kWaitOther:
            return {QColor(0xCC, 0x79, 0xA7), true};
        case Meaning::kWaiting:
            return {QColor(0x8A, 0x92, 0x9C), true};
        case Meaning::kTheory:
            return {theme.text};
        case Meaning::kReserved:
            return {theme.text};
        case Meaning::kDeviceCopy:
            return {QColor(0x00, 0x6E, 0x50)};
        case Meaning::kIdleLaunched:
            return {plainFill(Meaning::kIdle, theme).colour, true};
        case Meaning::kNoCore:
            return {QColor(0x00, 0x72, 0xB2), true};
        case Meaning::kStolen:
            return {QColor(0x7F, 0xB2, 0xD6), true};
        case Meaning::kCheckpoint:
            return {QColor(0x7A, 0x5C, 0xA8)};
        case Meaning::kProfiler:
            return {QColor(0x8C, 0x6D, 0x46)};
        case Meaning::kNone:
            return {QColor()};
    }
    return {QColor()};
}

void fillIn(Theme& theme) {
    for (std::size_t i = 0; i < kMeanings; ++i) {
        theme.fills[i] = plainFill(static_cast<Meaning>(i), theme);
        theme.fills[i].edge = theme.edgeOf(theme.fills[i].colour);
    }
}

Theme makeLight() {
    Theme theme;
    theme.window = QColor(0xFF, 0xFF, 0xFF);
    theme.panel = QColor(0xF6, 0xF7, 0xF9);
    theme.hairline = QColor(0xDD, 0xE1, 0xE6);
    theme.text = QColor(0x1B, 0x1F, 0x24);
    theme.quietText = QColor(0x5B, 0x64, 0x70);
    theme.accent = QColor(0x00, 0x72, 0xB2);
    theme.good = QColor(0x00, 0x7A, 0x58);
    theme.bad = QColor(0xB8, 0x3A, 0x0B);
    theme.warning = QColor(0x9A, 0x5B, 0x00);
    theme.field = QColor(0xFF, 0xFF, 0xFF);
    theme.neutral = QColor(0xED, 0xF0, 0xF3);
    fillIn(theme);
    return theme;
}

Theme makeDark() {
    Theme theme;
    theme.dark = true;
    theme.window = QColor(0x16, 0x19, 0x1D);
    theme.panel = QColor(0x1E, 0x22, 0x27);
    theme.hairline = QColor(0x34, 0x3A, 0x41);
    theme.text = QColor(0xE6, 0xE8, 0xEB);
    theme.quietText = QColor(0x9A, 0xA3, 0xAD);
    theme.accent = QColor(0x56, 0xB4, 0xE9);
    theme.good = QColor(0x3D, 0xC6, 0x9A);
    theme.bad = QColor(0xF2, 0x8A, 0x5B);
    theme.warning = QColor(0xF0, 0xB5, 0x4A);
    theme.field = QColor(0x12, 0x15, 0x18);
    theme.neutral = QColor(0x2A, 0x2F, 0x36);
    fillIn(theme);
    return theme;
}

QString firstInstalled(const QStringList& families, QFontDatabase::SystemFont fallback) {
    const QStringList installed = QFontDatabase::families();
    for (const QString& family : families) {
        if (installed.contains(family)) return family;
    }
    return QFontDatabase::systemFont(fallback).family();
}

constexpr const char16_t* kTemplate =
    uR"(
QPushButton { background: @panel; border: 1px solid @hairline; border-radius: 4px;
              padding: 0 12px; min-height: 28px; color: @text; }
QPushButton:hover { border-color: @quiet; }
QPushButton:pressed { background: @neutral; }
QPushButton:focus { border: 1px solid @accent; }
QPushButton:disabled { color: @quiet; background: @window; }
QPushButton[primary="true"] { background: @primary; color: #FFFFFF; border-color: @primary;
                              font-weight: 600; }
QPushButton[primary="true"]:hover { background: @primaryhover; }
QPushButton[primary="true"]:focus { border: 1px solid @text; }
QPushButton[primary="true"]:disabled { background: @neutral; color: @quiet; border-color: @hairline; }
QPushButton[danger="true"] { color: @bad; }
QPushButton[link="true"] { background: transparent; border: 1px solid transparent; color: @accent;
                           padding: 0 4px; min-height: 16px; text-align: left; }
QPushButton[link="true"]:focus { border: 1px solid @accent; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 4px;
              padding: 3px; color: @text; }
QToolButton:hover { background: @neutral; }
QToolButton[heading="true"] { padding: 2px 6px 2px 0; }
QToolButton:focus { border: 1px solid @accent; }
QToolButton:disabled { color: @quiet; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox {
    background: @field; border: 1px solid @hairline; border-radius: 4px; padding: 0 8px;
    min-height: 28px; color: @text; selection-background-color: @accent; selection-color: @onaccent; }
QComboBox { selection-background-color: @neutral; selection-color: @text; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border: 1px solid @accent; }
QLineEdit[invalid="true"], QSpinBox[invalid="true"], QDoubleSpinBox[invalid="true"],
QComboBox[invalid="true"] { border: 1px solid @bad; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled, QComboBox:disabled {
    background: @neutral; border-color: @neutral; color: @quiet; }
QComboBox::drop-down { border: none; width: 24px; }
QComboBox::down-arrow { image: url(:/icons/@chevron.svg); width: 12px; height: 12px; }
QComboBox::down-arrow:disabled { image: none; }
QComboBox QAbstractItemView { background: @field; color: @text; border: 1px solid @hairline;
    selection-background-color: @neutral; selection-color: @text; outline: none; }
QPlainTextEdit { background: @field; border: 1px solid @hairline; border-radius: 4px; color: @text; }
QPlainTextEdit:focus { border: 1px solid @accent; }
QPlainTextEdit[invalid="true"] { border: 1px solid @bad; }
QScrollArea { background: transparent; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @scroll; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QTableView { background: transparent; border: none; gridline-color: @hairline; outline: none; }
QHeaderView { background: transparent; }
QHeaderView::section { background: transparent; border: none; border-bottom: 1px solid @hairline;
    padding: 0 8px; color: @quiet; font-weight: 400; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: @quiet; padding: 4px 0; margin-right: 16px;
    border: none; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:focus { color: @accent; }
QToolTip { background: @panel; color: @text; border: 1px solid @hairline; padding: 6px 8px; }
QMenu { background: @panel; border: 1px solid @hairline; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 3px; }
QMenu::item:selected { background: @neutral; color: @text; }
QMenu::item:disabled { color: @quiet; }
QMenu::separator { height: 1px; background: @hairline; margin: 4px 8px; }
QCheckBox { spacing: 8px; }
QCheckBox:disabled { color: @quiet; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid @quiet; border-radius: 3px;
    background: @field; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent;
    image: url(:/icons/check.svg); }
QCheckBox::indicator:disabled { background: @neutral; border-color: @hairline; }
QCheckBox:focus { color: @accent; }
QDialog { background: @window; }
QMainWindow::separator { background: @panel; width: 6px; height: 6px; }
QMainWindow::separator:hover { background: @accent; }
QDockWidget { background: @window; border: 1px solid @hairline; }
QListView { background: transparent; border: none; outline: none; }
QListView::item { padding: 4px 8px; border-radius: 4px; }
QListView::item:selected { background: @neutral; color: @text; }
)";

}  // namespace

const Theme& Theme::light() {
    static const Theme theme = makeLight();
    return theme;
}

const Theme& Theme::darkTheme() {
    static const Theme theme = makeDark();
    return theme;
}

const Theme& Theme::of(const QPalette& palette) {
    return palette.color(QPalette::Window).lightnessF() < 0.5F ? darkTheme() : light();
}

const Theme& Theme::of(const QWidget*) {
    // the application's: style sheets give single widgets palettes of their own, and while a
    // change travels through the window some still have the old one
    return of(QApplication::palette());
}

QColor Theme::textOn(const QColor& background) {
    // black itself: with anything lighter there are grounds on which neither of the two reads
    const QColor black(Qt::black), white(Qt::white);
    return contrast(black, background) > contrast(white, background) ? black : white;
}

double contrast(const QColor& a, const QColor& b) {
    const double one = luminance(a) + 0.05, other = luminance(b) + 0.05;
    return std::max(one, other) / std::min(one, other);
}

QColor Theme::edgeOf(const QColor& colour) const {
    const auto reads = [this](const QColor& mark) {
        return contrast(mark, window) >= kMarkContrast && contrast(mark, panel) >= kMarkContrast;
    };
    if (!colour.isValid() || reads(colour)) return {};
    constexpr int kStep = 104;  // percent
    QColor edge = colour;
    while (!reads(edge)) edge = dark ? edge.lighter(kStep) : edge.darker(kStep);
    return edge;
}

QPalette Theme::palette() const {
    QPalette palette;
    palette.setColor(QPalette::Window, window);
    palette.setColor(QPalette::WindowText, text);
    palette.setColor(QPalette::Base, field);
    palette.setColor(QPalette::AlternateBase, panel);
    palette.setColor(QPalette::ToolTipBase, panel);
    palette.setColor(QPalette::ToolTipText, text);
    palette.setColor(QPalette::PlaceholderText, quietText);
    palette.setColor(QPalette::Text, text);
    palette.setColor(QPalette::Button, panel);
    palette.setColor(QPalette::ButtonText, text);
    palette.setColor(QPalette::BrightText, bad);
    palette.setColor(QPalette::Highlight, accent);
    palette.setColor(QPalette::HighlightedText, textOn(accent));
    palette.setColor(QPalette::Link, accent);
    palette.setColor(QPalette::Light, panel);
    palette.setColor(QPalette::Midlight, hairline);
    palette.setColor(QPalette::Mid, hairline);
    palette.setColor(QPalette::Dark, hairline);
    palette.setColor(QPalette::Shadow, hairline);
    for (QPalette::ColorRole role :
         {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
        palette.setColor(QPalette::Disabled, role, quietText);
    }
    palette.setColor(QPalette::Disabled, QPalette::Highlight, neutral);
    return palette;
}

QFont textFont(int pixels, QFont::Weight weight) {
    static const QString family =
        firstInstalled({u"Inter"_s, u"Noto Sans"_s, u"DejaVu Sans"_s}, QFontDatabase::GeneralFont);
    QFont font(family);
    font.setPixelSize(pixels);
    font.setWeight(weight);
    font.setHintingPreference(QFont::PreferNoHinting);
    // Inter's contextual alternates render names differently: "zero3x2" with a sign of
    // multiplication
    font.setStyleStrategy(QFont::PreferNoShaping);
    return font;
}

QFont codeFont(int pixels) {
    static const QString family =
        firstInstalled({u"JetBrains Mono"_s, u"DejaVu Sans Mono"_s}, QFontDatabase::FixedFont);
    QFont font(family);
    font.setPixelSize(pixels);
    font.setStyleHint(QFont::Monospace);
    return font;
}

QColor shadeFor(const QColor& base, const QString& name) {
    std::uint32_t hash = 2166136261U;  // FNV-1a: qHash has another seed in every process
    for (QChar character : name) hash = (hash ^ character.unicode()) * 16777619U;
    static constexpr int kShades[] = {78, 90, 100, 112, 126, 142};
    return base.lighter(kShades[hash % 6]);
}

QStyle* applicationStyle() {
    return new PlainTextStyle;
}

namespace {

void restyle(QWidget& widget) {
    // one that was never seen takes up the style when it is
    if (widget.testAttribute(Qt::WA_WState_Polished)) {
        widget.style()->polish(&widget);
        QEvent changed(QEvent::StyleChange);
        QCoreApplication::sendEvent(&widget, &changed);
    }
    for (QObject* child : widget.children())
        if (auto* inner = qobject_cast<QWidget*>(child); inner != nullptr && !inner->isWindow())
            restyle(*inner);
}

}  // namespace

/// Qt 6.4 restyles what it has styled, and with each widget all that is in it: one that is ten deep
/// ten times. So it is made to forget what it has styled, and each widget is restyled here, once.
void applyTheme(const Theme& theme) {
    QApplication::setPalette(theme.palette());
    QApplication::style()->unpolish(qApp);
    qApp->setStyleSheet(themeStyleSheet(theme));
    for (QWidget* window : QApplication::topLevelWidgets()) restyle(*window);
}

QString themeStyleSheet(const Theme& theme) {
    QString sheet = QString::fromUtf16(kTemplate);
    // on dark ground white text needs the darker of the two accents behind it
    const QColor primary(0x00, 0x72, 0xB2);
    const std::pair<const char16_t*, QString> values[] = {
        {u"@primaryhover", primary.darker(112).name()},
        {u"@primary", primary.name()},
        {u"@panel", theme.panel.name()},
        {u"@hairline", theme.hairline.name()},
        {u"@window", theme.window.name()},
        {u"@quiet", theme.quietText.name()},
        {u"@text", theme.text.name()},
        {u"@accent", theme.accent.name()},
        {u"@onaccent", theme.palette().color(QPalette::HighlightedText).name()},
        {u"@neutral", theme.neutral.name()},
        {u"@field", theme.field.name()},
        {u"@bad", theme.bad.name()},
        {u"@scroll", theme.dark ? u"#4A525C"_s : u"#C3C9D1"_s},
        {u"@chevron", theme.dark ? u"chevron_dark"_s : u"chevron_light"_s},
    };
    for (const auto& [name, value] : values) sheet.replace(QString::fromUtf16(name), value);
    return sheet;
}

}  // namespace shardscope::desktop
