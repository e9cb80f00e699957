// What every page says of a recording: what it lacks, whose devices are shared, what is selected.
// One text of each, whatever the page. Pure.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/selection.h"
#include "profiler/analysis/report/lacks.h"

#include <QString>

namespace shardscope::desktop {

/// How a run failed, or what is missing from its recording; empty: neither.
[[nodiscard]] QString incompleteText(const OpenRecording& recording);
/// The same of a trace that is being imported.
[[nodiscard]] QString importingText(const ImportProgress& progress);
/// Why something is not there that may come: "not read yet: …"; empty: all that there is, is.
[[nodiscard]] QString notYetText(const OpenRecording& recording);
/// Its file was damaged, and repaired.
[[nodiscard]] bool wasSalvaged(const OpenRecording& recording);
/// Why there is none of `what`, which capture level `least` records: "not recorded: …".
[[nodiscard]] QString absenceText(const OpenRecording& recording, CaptureLevel least,
                                  const QString& what);
/// Of a recorded program: why it lacks something, or how to get it (report/lacks.h); else empty.
[[nodiscard]] QString lackText(const OpenRecording& recording, analysis::Lack lack);
/// Why no peak of memory is known.
[[nodiscard]] QString noMemoryText(const OpenRecording& recording);
/// Why there is no communication: none, none that was recorded, or none that is selected.
[[nodiscard]] QString noCommunicationText(const SelectedPart& part);
/// Why it is not known how much of it compute hides.
[[nodiscard]] QString noOverlapText(const SelectedPart& part);
/// Whether every event that a step must have is there, in a sentence; and in a word or two.
[[nodiscard]] QString completenessText(const OpenRecording& recording);
[[nodiscard]] QString completenessWord(const OpenRecording& recording);
/// "30 Nov 2026, 06:57:12"; empty: not known.
[[nodiscard]] QString startedText(const RunFacts& run);
/// For paper: when, on which hosts and of which steps.
[[nodiscard]] QString occasionText(const OpenRecording& recording);
/// What of its steps a recording holds less of than of others, and why, as one paragraph; empty
/// when nothing.
[[nodiscard]] QString leftOutText(const OpenRecording& recording);
/// For a stretch of the timeline: "thinned", "not kept" or "not recorded".
[[nodiscard]] QString leftOutWord(const DetailFacts& detail);
/// Ranks that share a device limit what every figure of speed means; empty: none does.
[[nodiscard]] QString sharedDeviceText(const OpenRecording& recording);
/// That collectives went over a link that is not there; empty: a real one.
[[nodiscard]] QString modelledLinkText(const OpenRecording& recording);
/// "steps 3–40 · ranks all · 0.412 s – 38.1 s"
[[nodiscard]] QString selectionText(const OpenRecording& recording, const Selection& selection);

}  // namespace shardscope::desktop
