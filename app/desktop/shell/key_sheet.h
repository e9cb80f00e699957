// All keys on one sheet, and the palette that finds commands by name. Dialogs without an event
// loop of their own. GUI thread; delete themselves when closed.
#pragma once

#include <QDialog>

class QLineEdit;
class QListWidget;

namespace shardscope::desktop {

class Commands;

class KeySheet : public QDialog {
    Q_OBJECT

public:
    KeySheet(const Commands& commands, QWidget* parent);
};

class CommandPalette : public QDialog {
    Q_OBJECT

public:
    /// `commands` outlives the dialog.
    CommandPalette(const Commands& commands, QWidget* parent);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& text);
    void runCurrent();

    const Commands& m_commands;
    QLineEdit* m_text;
    QListWidget* m_list;
};

}  // namespace shardscope::desktop
