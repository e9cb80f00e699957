// Layouts of pages: presets, those that the user stores under a name, and the one that a window was
// closed with. Gives them commands. In the settings file; where that is empty nothing is kept.
// GUI thread; borrows the area and the commands, which outlive it.
#pragma once

#include "app/desktop/models/page_layout.h"

#include <QObject>
#include <QPoint>

namespace shardscope::desktop {

class Commands;
class PageArea;

class LayoutKeeper : public QObject {
    Q_OBJECT

public:
    LayoutKeeper(PageArea& area, Commands& commands, const QString& file,
                 QObject* parent = nullptr);
    void addCommands();
    void apply(const LayoutPreset& preset);
    /// As the window was when it was closed last; the page in the middle stays. Once, and only
    /// where the user has not laid out anything yet.
    void takeUpLast();
    /// Unless nothing was open that there was a layout of.
    void keepLast() const;
    void store(const QString& name);
    void recall(const QString& name);
    void forget(const QString& name);
    /// Where a page may go.
    void showPlaces(const QString& page, QPoint at);

Q_SIGNALS:
    /// What came of it, in a sentence.
    void told(const QString& text);

private:
    void addPlaceCommands(const QString& group);
    void addKept(const QString& name);
    void removeKept(const QString& name);
    void askForName();
    void moveCurrent(PagePlace place);

    PageArea& m_area;
    Commands& m_commands;
    QString m_file;
    bool m_isTakenUp = false;
};

}  // namespace shardscope::desktop
