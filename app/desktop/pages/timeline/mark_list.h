// The marks of the open recording: read when it is opened, kept whenever they change, listed in a
// table where they are named, noted and removed. GUI thread; files on the loader's.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/timeline/marks.h"

#include <QObject>
#include <string>

class QMenu;

namespace shardscope::desktop {

class TablePanel;

class MarkList : public QObject {
    Q_OBJECT

public:
    MarkList(RecordingLoader& loader, TablePanel& panel, QObject* parent);
    /// Of another recording; of one that has grown they stay.
    void setRecording(const RecordingPtr& recording);
    void add(Timestamp at);
    void remove(int place);
    [[nodiscard]] const Marks& marks() const { return m_marks; }

Q_SIGNALS:
    void changed(const shardscope::desktop::Marks& marks);
    void momentRequested(shardscope::Timestamp at);

private:
    void set(Marks marks);
    void keep();
    void show();
    void edit(int row, int column, const QString& text);

    TablePanel& m_panel;
    Topic m_loading, m_keeping;
    Marks m_marks;
    QString m_path;
    std::string m_run;
};

}  // namespace shardscope::desktop
