// Commands on digits where the digit row gives none unshifted, as on AZERTY: there its keys count
// by their place. Keys that give the digit are left to Qt, so that never both happen; so is what is
// typed into a text field. GUI thread.
#pragma once

#include <QObject>

class QAction;
class QKeyEvent;
class QWidget;

namespace shardscope::desktop {

class Commands;

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
