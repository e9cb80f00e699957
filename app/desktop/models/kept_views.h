// Views that the user keeps: under a digit, of each recording, and the last one of all, to go on
// with. In the settings file; where `file` is empty nothing is kept and nothing found. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"

#include <QString>
#include <optional>

namespace shardscope::desktop {

inline constexpr int kFirstView = 1, kLastView = 9;  ///< digits

/// `key`: of the recording.
[[nodiscard]] std::optional<View> keptView(const QString& file, const QString& key, int digit);
/// False: there is no `file` to keep it in.
bool keepView(const QString& file, const QString& key, int digit, const View& view);

/// Takes out of a selection what the recording has not; whether there was any such thing.
bool fitTo(const OpenRecording& recording, Selection& selection);

/// What was open when a window was closed.
struct LastSession {
    QString address;  ///< what openFile() takes
    QString name;     ///< "run.sscope"
    QString what;     ///< of it, for people: "Timeline · steps 2–5"
    View view;
};
[[nodiscard]] std::optional<LastSession> lastSession(const QString& file);
void keepSession(const QString& file, const LastSession& session);

}  // namespace shardscope::desktop
