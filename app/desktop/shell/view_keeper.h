// Keeps views of the open recording under digits, and what is looked at last for the next window.
// GUI thread.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/kept_views.h"
#include "app/desktop/models/selection.h"

#include <QObject>
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
    void told(const QString& text);
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

}  // namespace shardscope::desktop
