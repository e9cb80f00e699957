#include "app/desktop/shell/key_sheet.h"

#include "app/desktop/shell/commands.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kRow = 21;      ///< with the space below it
constexpr int kAround = 200;  ///< title, margins, and what is left free of the window
constexpr int kLeastRows = 12;

}  // namespace

KeySheet::KeySheet(const Commands& commands, QWidget* parent) : QDialog(parent) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Keys"));
    setAccessibleName(tr("Keys"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapPage, kGapPage, kGapPage);
    layout->setSpacing(kGapGroup);
    layout->addWidget(headlineLabel(tr("Keys"), this));
    const int height = parent == nullptr ? 0 : parent->height();
    const int rows = std::max(kLeastRows, (height - kAround) / kRow);
    auto* sheet = new QWidget;
    auto* grid = new QGridLayout(sheet);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(kGapGroup);
    grid->setVerticalSpacing(kGapSmall);
    int row = 0;
    int column = 0;
    QString group;
    for (const Command& command : commands.all()) {
        if (command.keys.isEmpty() || command.inSeries) continue;
        if (command.group != group) {
            group = command.group;
            if (row > rows - 4) {
                row = 0;
                column += 3;
                grid->setColumnMinimumWidth(column - 1, kGapPage);
            }
            if (row > 0) grid->setRowMinimumHeight(row++, kGap);
            grid->addWidget(sectionLabel(group, this), row++, column, 1, 2);
        }
        auto* keys = codeLabel(command.keys, this);
        keys->setWordWrap(false);
        grid->addWidget(keys, row, column);
        grid->addWidget(new QLabel(command.name, this), row++, column + 1);
    }
    auto* area = new PlainArea(this);
    area->setWidget(sheet);
    area->setAccessibleName(tr("Keys"));
    area->setFocusPolicy(Qt::StrongFocus);  // arrows scroll
    area->setFocus();
    layout->addWidget(area, 1);
    const QSize wanted = sheet->sizeHint() + QSize(2 * kGapPage + 2, kAround / 2);
    resize(wanted.boundedTo(screen()->availableSize() * 9 / 10));
}

CommandPalette::CommandPalette(const Commands& commands, QWidget* parent)
    : QDialog(parent),
      m_commands(commands),
      m_text(new QLineEdit(this)),
      m_list(new QListWidget(this)) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Commands"));
    resize(520, 360);
    m_text->setPlaceholderText(tr("What to do"));
    m_text->setAccessibleName(tr("Name of a command"));
    m_list->setAccessibleName(tr("Commands that match"));
    m_text->installEventFilter(this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_text);
    layout->addWidget(m_list);
    connect(m_text, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_text, &QLineEdit::returnPressed, this, &CommandPalette::runCurrent);
    connect(m_list, &QListWidget::itemActivated, this, &CommandPalette::runCurrent);
    filter({});
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Up) {
            const int next = m_list->currentRow() + (key == Qt::Key_Down ? 1 : -1);
            m_list->setCurrentRow(std::clamp(next, 0, std::max(0, m_list->count() - 1)));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void CommandPalette::filter(const QString& text) {
    m_list->clear();
    const QStringList words = text.split(u' ', Qt::SkipEmptyParts);
    for (const Command& command : m_commands.all()) {
        if (command.action == nullptr || !command.action->isEnabled()) continue;
        const QString line = command.group + u": "_s + command.name;
        const bool matches = std::all_of(words.begin(), words.end(), [&](const QString& word) {
            return line.contains(word, Qt::CaseInsensitive);
        });
        if (!matches) continue;
        auto* item = new QListWidgetItem(
            command.keys.isEmpty() ? line : line + u"    "_s + command.keys, m_list);
        item->setData(Qt::UserRole, command.id);
    }
    m_list->setCurrentRow(0);
}

void CommandPalette::runCurrent() {
    QListWidgetItem* item = m_list->currentItem();
    if (item == nullptr) return;
    QAction* action = m_commands.find(item->data(Qt::UserRole).toString());
    close();
    if (action != nullptr) action->trigger();
}

}  // namespace shardscope::desktop
