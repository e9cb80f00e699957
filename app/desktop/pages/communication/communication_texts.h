// What the Communication page says in words: its answer, what holds overlap back, and why there is
// nothing where there is nothing. Pure.
#pragma once

#include "app/desktop/models/selected_part.h"
#include "app/desktop/pages/communication/communication_query.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Of a recording that holds no communication at all.
struct NothingText {
    QString title, text;
};
[[nodiscard]] std::optional<NothingText> noCommunicationAtAll(const SelectedPart& part);

/// "31 % of step time is blocked in communication: 214 of 690 ms, ..., of which 80 ms is waiting".
[[nodiscard]] QString communicationHeadline(const SelectedPart& part);
/// Overlap against the most that the schedule allows.
[[nodiscard]] QString overlapSentence(const SelectedPart& part);
/// Why the rest is exposed; empty: nothing is.
[[nodiscard]] QString reasonSentence(const CommunicationFrame& frame);
/// Who comes last, or why that is unknown.
[[nodiscard]] QString skewSentence(const CommunicationFrame& frame);
/// What is unknown of these collectives, a sentence each.
[[nodiscard]] QString unknownText(const CommunicationFrame& frame);

}  // namespace shardscope::desktop
