// A page of the window: what it is given, what it asks of the window, and its entry in the list of
// pages. The window knows pages by this alone. GUI thread.
#pragma once

#include "app/desktop/loading/part_loader.h"
#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/models/compared_files.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/session/recorder_session.h"
#include "app/desktop/widgets/picture_file.h"
#include "storage/model/collective_key.h"

#include <QString>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// What pages work with; owned by the window. All of it outlives them but the loader and the
/// session, which go with the window's members just before its pages do.
struct PageContext {
    RecordingLoader& loader;
    SelectionModel& selection;
    PartLoader& part;
    RecorderSession& session;
    ComparedFiles& compared;
    QString recordingsFolder;   ///< where recordings go unless one says otherwise
    QString recentFile;         ///< keeps which recordings were opened; empty: nothing is kept
    bool remembers = true;      ///< whether what is opened now is added to them
    QString settingsFile = {};  ///< keeps targets and views; empty: nothing is kept
};

/// What another page speaks of: a collective, of `rank` if possible, or what ranks did longest in a
/// stretch of time.
struct Pointed {
    std::optional<CollectiveKey> collective;
    TimeRange range;
    std::optional<RankId> rank;
};

/// Ids of pages that others lead to.
namespace page_ids {
inline constexpr QLatin1StringView kStart{"start"};
inline constexpr QLatin1StringView kNewRun{"newrun"};
inline constexpr QLatin1StringView kPlan{"plan"};
inline constexpr QLatin1StringView kLive{"live"};
inline constexpr QLatin1StringView kOverview{"overview"};
inline constexpr QLatin1StringView kTimeline{"timeline"};
inline constexpr QLatin1StringView kMemory{"memory"};
inline constexpr QLatin1StringView kCommunication{"communication"};
inline constexpr QLatin1StringView kOperators{"operators"};
inline constexpr QLatin1StringView kTraining{"training"};
inline constexpr QLatin1StringView kEfficiency{"efficiency"};
inline constexpr QLatin1StringView kDashboard{"dashboard"};
inline constexpr QLatin1StringView kCompare{"compare"};
inline constexpr QLatin1StringView kProblems{"problems"};
inline constexpr QLatin1StringView kSql{"sql"};
}  // namespace page_ids

class Page : public QWidget {
    Q_OBJECT

public:
    /// A key that the page handles itself, for the sheet of keys; what can be done without the
    /// pointer is a command of the palette too.
    struct KeyNote {
        QString keys;
        QString name;
        std::function<void()> run = {};
    };

    /// A text that it can be saved as, beside its picture and its tables.
    struct Text {
        QString name;    ///< "Problems (Markdown)"
        QString what;    ///< what it holds, in a phrase
        QString ending;  ///< of its file, "md"
        QString text;
    };

    using QWidget::QWidget;
    [[nodiscard]] virtual std::vector<KeyNote> keyNotes() const { return {}; }
    [[nodiscard]] virtual std::vector<Text> texts() const { return {}; }
    /// What it shows, for a file or paper: as it is seen, or composed again for `size` where it can
    /// be.
    [[nodiscard]] virtual DrawnPicture drawn(QSize size, bool dark);
    /// Selects the slice, and unfolds what hides it.
    virtual void pointAt(const Pointed& /*pointed*/) {}
    /// Shows these settings of a run, which another page has made.
    virtual void fillIn(const run::RunConfig& /*config*/) {}
    /// Whether it waits for something that the loader does not know of.
    [[nodiscard]] virtual bool isReading() const { return false; }

Q_SIGNALS:
    /// Let the user choose a recording.
    void openRequested();
    /// The same, of one on another host.
    void remoteRequested();
    /// The same, of a folder of traces.
    void folderRequested();
    void fileRequested(const QString& path);
    void pageRequested(const QString& id);
    /// That the page `id` points at it.
    void pointRequested(const QString& id, const shardscope::desktop::Pointed& pointed);
    /// That the page `id` is filled in with settings, and shown.
    void fillInRequested(const QString& id, const shardscope::run::RunConfig& config);
    /// `arguments`: those of `shardscope record`; of a resumed run what differs from its
    /// checkpoint.
    void runRequested(const shardscope::run::RunConfig& config, const QStringList& arguments);
    /// Open what was open last, as it was looked at.
    void continueRequested();
    /// Let the user keep what it shows as a file.
    void exportRequested();
    /// What is under the pointer, in a line.
    void hoverChanged(const QString& text);
};

/// A page as the rail, the keys 1 to 9 and `--page` know it.
struct PageEntry {
    QString id;
    QString icon;  ///< a file of resources/icons
    QString name;
    Page* (*make)(PageContext& context, QWidget* parent);
};

}  // namespace shardscope::desktop
