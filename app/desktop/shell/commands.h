// Every command of the window: name, key, what it does. One registry feeds shortcuts, the
// menu, the key sheet and the palette. GUI thread; owns the actions.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QObject>
#include <QString>
#include <functional>
#include <vector>

class QWidget;
class QMenu;
class QAction;
class QKeyEvent;

namespace shardscope::desktop {

struct Command {
    QString id;
    QString group;
    QString name;
    QAction* action = nullptr;
    QString keys;           ///< as shown; for keys that a page handles itself there is no action
    bool inSeries = false;  ///< the sheet of keys has one note for all of them
};

class Commands : public QObject {
    Q_OBJECT

public:
    /// Shortcuts work in all of `window`.
    explicit Commands(QWidget* window);
    QAction* add(const QString& id, const QString& group, const QString& name,
                 const QList<QKeySequence>& keys, std::function<void()> run);
    /// One of several that differ by a digit alone: a note says so in the sheet of keys.
    QAction* addOfSeries(const QString& id, const QString& group, const QString& name,
                         const QKeySequence& keys, std::function<void()> run);
    /// A key that a page handles: for the sheet, and where there is something to run the palette.
    void addNote(const QString& group, const QString& keys, const QString& name,
                 std::function<void()> run = {});
    void remove(const QString& id);
    [[nodiscard]] const std::vector<Command>& all() const { return m_commands; }
    [[nodiscard]] QAction* find(const QString& id) const;

private:
    QWidget* m_window;
    std::vector<Command> m_commands;
};

// The menu of the window: every command of the registry, a submenu a group. GUI thread.

/// Of what can be run now; the caller shows it. Deletes itself once it is closed.
QMenu* commandMenu(const Commands& commands, QWidget* parent);

// Commands on digits where the digit row gives none unshifted, as on AZERTY: there its keys count
// by their place. Keys that give the digit are left to Qt, so that never both happen; so is what is
// typed into a text field. GUI thread.

class DigitKeys : public QObject {
    Q_OBJECT

public:
    /// `commands` and `window` outlive it.
    DigitKeys(const Commands& commands, QWidget* window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// Null: the key is not ours.
    [[nodiscard]] QAction* actionOf(const QKeyEvent& key) const;

    const Commands& m_commands;
    QWidget* m_window;
    quint32 m_claimed = 0;  ///< scan code whose press is on its way; 0: none
};

}  // namespace shardscope::desktop
