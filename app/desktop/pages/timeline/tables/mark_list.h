// The marks of the open recording: read when it is opened, kept whenever they change, listed in a
// table where they are named, noted and removed. GUI thread; files on the loader's.
#pragma once

#include "app/desktop/loading/topic.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <QByteArray>
#include <QObject>
#include <QString>
#include <string>
#include <vector>

class QMenu;

namespace shardscope::desktop {

// Marks that one sets on the time axis, with a name and a note, and the file that keeps them:
// beside the recording ("run.sscope.marks"), or in a folder of the user's where that cannot be
// written or the recording is on another host. The recording itself is not touched.

struct Mark {
    Timestamp time;
    QString name;
    QString note;
    friend bool operator==(const Mark&, const Mark&) = default;
};
using Marks = std::vector<Mark>;

/// Puts a mark in its place by time. Returns where; a second one at the same time is the first.
std::size_t addMark(Marks& marks, const Mark& mark);
/// What one jumps to.
struct Landmark {
    Timestamp time;
    QString text;
};
/// Marks, failures, slow steps, and where slow stretches begin; by time.
[[nodiscard]] std::vector<Landmark> landmarks(const OpenRecording& recording, const Marks& marks);

/// "mark 3": the first such name that is not taken.
[[nodiscard]] QString newMarkName(const Marks& marks);

/// JSON. `run`: id of the run, so that marks of another recording under that name do not count.
[[nodiscard]] QByteArray marksToJson(const QString& run, const Marks& marks);
/// By time; none where the text is damaged or of another run.
[[nodiscard]] Marks marksFromJson(const QByteArray& json, const QString& run);

/// Not on the GUI thread.
class MarkFile {
public:
    /// `recording`: a file, or "ssh://HOST/PATH". `userFolder`: made when it is needed.
    MarkFile(const QString& recording, const QString& userFolder);
    /// Where nothing was kept, none.
    [[nodiscard]] Marks load(const QString& run) const;
    /// Without marks the file goes.
    [[nodiscard]] Result<void> save(const QString& run, const Marks& marks) const;
    [[nodiscard]] const QString& beside() const { return m_beside; }
    [[nodiscard]] const QString& inUserFolder() const { return m_inUserFolder; }

private:
    QString m_beside;  ///< empty: the recording is on another host
    QString m_inUserFolder;
};

/// Of this user: "~/.local/share/shardscope/marks".
[[nodiscard]] QString userMarkFolder();

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
