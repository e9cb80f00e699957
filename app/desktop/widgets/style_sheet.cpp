#include "app/desktop/widgets/style_sheet.h"

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

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
    min-height: 28px; color: @text; selection-background-color: @accent; }
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
