// Keeps views of the open recording under digits, and what is looked at last for the next window.
// GUI thread.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/kept_views.h"
#include "app/desktop/models/page_layout.h"
#include "app/desktop/models/selection.h"

#include <QObject>
#include <QPoint>
#include <QString>
#include <functional>
#include <optional>

namespace shardscope::desktop {

class Commands;

class ViewKeeper : public QObject {
    Q_OBJECT

public:
    /// Name of a page, of its id; empty: there is none.
    using PageNames = std::function<QString(const QString& page)>;

    /// Loader and selection outlive it. `file`: the user's settings; empty: nothing is kept.
    ViewKeeper(RecordingLoader& loader, SelectionModel& selection, const QString& file,
               PageNames pageNames, QObject* parent = nullptr);
    void addCommands(Commands& commands);
    void store(int digit);
    void recall(int digit);
    /// Opens what was open last, as it was looked at.
    void goOn();
    /// What is looked at now is what the next window goes on with.
    void keepLast() const;

Q_SIGNALS:
    /// A sentence on what was done, or why not.
    void reported(const QString& text);
    void fileWanted(const QString& path);
    void pageWanted(const QString& page);

private:
    [[nodiscard]] QString describe(const OpenRecording& recording, const View& view) const;
    /// Whether some of it had to be left out.
    bool show(const OpenRecording& recording, View view);
    void takeUp(const RecordingPtr& recording);

    RecordingLoader& m_loader;
    SelectionModel& m_selection;
    QString m_file;
    PageNames m_pageNames;
    std::optional<View> m_awaited;  ///< of a recording that is on its way
};

// Layouts of pages: presets, those that the user stores under a name, and the one that a window was
// closed with. Gives them commands. In the settings file; where that is empty nothing is kept.
// GUI thread; borrows the area and the commands, which outlive it.

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
    /// The outcome, in a sentence.
    void reported(const QString& text);

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
