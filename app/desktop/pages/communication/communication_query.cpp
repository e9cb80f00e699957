#include "app/desktop/pages/communication/communication_query.h"

#include "app/desktop/loading/part_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardscope::desktop {
namespace {

/// As the ledger has it: blocked before the last rank arrived.
const HeatChoice& waitingChoice() {
    static const HeatChoice kWaiting{QStringLiteral("waiting"), analysis::LedgerPart::kWaiting};
    return kWaiting;
}

std::vector<std::size_t> byTime(const std::vector<analysis::Transfer>& transfers) {
    std::vector<std::size_t> places(transfers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    // those of which it is not known how long data moved go last, as on the command line
    const auto time = [&](std::size_t place) {
        return transfers[place].transfer.value_or(Duration{-1});
    };
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return time(a) > time(b); });
    return places;
}

}  // namespace

bool knowsWaiting(const SelectedPart& part) {
    const bool alone = part.recording->isTrace() && part.recording->summary.run.worldSize <= 1;
    return part.report->waitingKnown && !alone;
}

Result<CommunicationFramePtr> loadCommunicationFrame(storage::RecordingReader& reader,
                                                     const PartPtr& part) {
    auto frame = std::make_shared<CommunicationFrame>();
    frame->part = part;
    if (!part->refusal.isEmpty()) return CommunicationFramePtr(std::move(frame));
    const questions::Selection selection = askedSelection(part->selection);
    auto communication = questions::readCommunication({reader, *part->summary, selection});
    if (!communication) return failure(communication);
    frame->communication = std::move(*communication);
    // What is exposed takes knowing when the rank computed.
    if (!part->report->overlap.computeKnown) {
        frame->communication.byLayer.clear();
        frame->communication.reasons.clear();
    }
    frame->longestFirst = byTime(frame->communication.transfers);
    const auto& ledger = part->report->ledger;
    if (knowsWaiting(*part) && !ledger.empty() && !frame->communication.transfers.empty()) {
        frame->waitingAxes = ledgerAxes(ledger, waitingChoice(), HeatOrder::kByRank);
        frame->waiting = ledgerHeat(ledger, waitingChoice(), frame->waitingAxes);
    }
    return CommunicationFramePtr(std::move(frame));
}

}  // namespace shardscope::desktop
