#include "app/desktop/shell/key_sheet.h"

#include "app/desktop/shell/commands.h"
#include "app/desktop/widgets/plain_area.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QList>
#include <QListWidget>
#include <QScreen>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kMostKeys = 152;   ///< wide; more of them take a second line
constexpr int kNameWidth = 208;  ///< of what a key does; longer names take a second line
constexpr int kLeastName = 112;  ///< where the screen has no room for more
constexpr int kAround = 120;     ///< title and margins

/// The keys of a group below its name.
class KeyGroup : public QWidget {
public:
    KeyGroup(const QString& name, QWidget* parent)
        : QWidget(parent), m_grid(new QGridLayout(this)) {
        m_grid->setContentsMargins(0, 0, 0, 0);
        m_grid->setHorizontalSpacing(kGapGroup);
        m_grid->setVerticalSpacing(kGapSmall);
        m_grid->setColumnStretch(1, 1);
        m_grid->addWidget(sectionLabel(name, this), m_row++, 0, 1, 2);
    }
    void add(const Command& command) {
        // may break after each "+"
        auto* keys = codeLabel(QString(command.keys).replace(u"+"_s, u"+\u200B"_s), this);
        keys->setAlignment(Qt::AlignLeft | Qt::AlignTop);
        auto* name = new QLabel(command.name, this);
        name->setWordWrap(true);
        name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
        m_grid->addWidget(keys, m_row, 0);
        m_grid->addWidget(name, m_row++, 1);
        m_keys << keys;
        m_names << name;
    }
    [[nodiscard]] int keysWidth() const {
        int most = 0;
        for (const QLabel* each : m_keys) {
            const int whole = each->fontMetrics().horizontalAdvance(each->text()) + 1;
            most = std::max({most, std::min(whole, kMostKeys), each->minimumSizeHint().width()});
        }
        return most;
    }
    void setKeysWidth(int width) {
        for (QLabel* each : m_keys) each->setFixedWidth(width);
    }
    [[nodiscard]] int nameWidth() const {
        int most = kLeastName;
        for (const QLabel* each : m_names) most = std::max(most, each->minimumSizeHint().width());
        return most;
    }

private:
    QGridLayout* m_grid;
    int m_row = 0;
    QList<QLabel*> m_keys, m_names;
};

/// Groups in as many columns as its width has room for, of about one height.
class KeyColumns : public QWidget {
public:
    KeyColumns(const Commands& commands, QWidget* parent) : QWidget(parent) {
        std::map<QString, KeyGroup*> byName;
        for (const Command& command : commands.all()) {
            if (command.keys.isEmpty() || command.inSeries) continue;
            KeyGroup*& group = byName[command.group];
            if (group == nullptr) {
                group = new KeyGroup(command.group, this);
                m_groups.push_back(group);
            }
            group->add(command);
        }
        int keys = 0, names = 0;
        for (const KeyGroup* each : m_groups) {
            keys = std::max(keys, each->keysWidth());
            names = std::max(names, each->nameWidth());
        }
        for (KeyGroup* each : m_groups) each->setKeysWidth(keys);
        m_leastWidth = keys + kGapGroup + names;
        m_columnWidth = std::max(m_leastWidth, keys + kGapGroup + kNameWidth);
        QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
        policy.setHeightForWidth(true);
        setSizePolicy(policy);
    }
    [[nodiscard]] int widthOf(int columns) const {
        return columns * (m_columnWidth + kGapPage) - kGapPage;
    }
    [[nodiscard]] int columnsIn(int width) const {
        const int most = (width + kGapPage) / (m_columnWidth + kGapPage);
        return std::clamp(most, 1, std::max(1, static_cast<int>(m_groups.size())));
    }
    [[nodiscard]] int heightForWidth(int width) const override {
        return heightOf(columnsIn(width), width);
    }
    [[nodiscard]] QSize minimumSizeHint() const override { return {m_leastWidth, 0}; }
    [[nodiscard]] QSize sizeHint() const override {
        return {m_columnWidth, heightForWidth(m_columnWidth)};
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QWidget::resizeEvent(event);
        const int columns = columnsIn(width()), room = roomIn(columns, width());
        const int height = heightOf(columns, width());
        int x = 0, y = 0;
        for (KeyGroup* each : m_groups) {
            const int high = each->heightForWidth(room);
            if (y > 0 && y + high > height) {
                x += room + kGapPage;
                y = 0;
            }
            each->setGeometry(x, y, room, high);
            y += high + kGapGroup;
        }
    }

private:
    [[nodiscard]] static int roomIn(int columns, int width) {
        return (width + kGapPage) / columns - kGapPage;
    }
    /// The least with which the groups, one after the other, take no more than these columns.
    [[nodiscard]] int heightOf(int columns, int width) const {
        const int room = roomIn(columns, width);
        std::vector<int> heights;
        int least = 0, most = 0;
        for (const KeyGroup* each : m_groups) {
            heights.push_back(each->heightForWidth(room));
            least = std::max(least, heights.back());
            most += heights.back() + kGapGroup;
        }
        const auto fits = [&](int height) {
            int taken = 1, y = 0;
            for (const int high : heights) {
                if (y > 0 && y + high > height) {
                    ++taken;
                    y = 0;
                }
                y += high + kGapGroup;
            }
            return taken <= columns;
        };
        while (least < most) {
            const int middle = (least + most) / 2;
            fits(middle) ? most = middle : least = middle + 1;
        }
        return least;
    }

    std::vector<KeyGroup*> m_groups;
    int m_columnWidth = 0, m_leastWidth = 0;
};

}  // namespace

KeySheet::KeySheet(const Commands& commands, QWidget* parent) : QDialog(parent) {
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Keys"));
    setAccessibleName(tr("Keys"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kGapPage, kGapPage, kGapPage, kGapPage);
    layout->setSpacing(kGapGroup);
    layout->addWidget(headlineLabel(tr("Keys"), this));
    auto* sheet = new KeyColumns(commands, this);
    QWidget* area = scrollingColumn(sheet, this);
    area->setAccessibleName(tr("Keys"));
    area->setFocusPolicy(Qt::StrongFocus);  // arrows scroll
    area->setFocus();
    layout->addWidget(area, 1);
    // as few columns as are no higher than the screen
    const QSize most = screen()->availableSize() * 9 / 10;
    const int around =
        2 * kGapPage + area->minimumSizeHint().width() - sheet->minimumSizeHint().width();
    const int columns = sheet->columnsIn(most.width() - around);
    for (int each = 1; each <= columns; ++each) {
        const int height = sheet->heightForWidth(sheet->widthOf(each)) + kAround;
        resize(QSize(sheet->widthOf(each) + around, height).boundedTo(most));
        if (height <= most.height()) break;
    }
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
