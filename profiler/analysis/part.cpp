#include "profiler/analysis/part.h"

#include "storage/model/detail.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace shardscope::analysis {
namespace {

const Diagnostic* find(const RecordingSummary& summary, const char* code) {
    const auto found = std::find_if(summary.diagnostics.begin(), summary.diagnostics.end(),
                                    [code](const Diagnostic& each) { return each.code == code; });
    return found == summary.diagnostics.end() ? nullptr : &*found;
}

}  // namespace

bool isSelected(const RecordingSummary& summary) {
    return find(summary, kSelectedPart) != nullptr || find(summary, kSelectedRanks) != nullptr;
}

std::size_t stepsBefore(const RecordingSummary& summary) {
    if (const Diagnostic* part = find(summary, kSelectedPart))
        return static_cast<std::size_t>(std::max<std::int64_t>(0, part->count));
    if (find(summary, kPartOfRecording) == nullptr || summary.steps.empty()) return 0;
    const auto first =
        std::min_element(summary.steps.begin(), summary.steps.end(),
                         [](const auto& a, const auto& b) { return a.step < b.step; });
    return static_cast<std::size_t>(std::max(0, first->step.value));
}

DetailedPart detailedPart(const RecordingSummary& summary) {
    DetailedPart part;
    part.basis.leftOut = detailPhrases(summary.detail);
    const StepDetail detail(summary.detail);
    std::set<StepIndex> all, poor;
    for (const StepFacts& step : summary.steps) {
        all.insert(step.step);
        if (detail.of(step.rank, step.step) < CaptureLevel::kLight) poor.insert(step.step);
    }
    part.basis.steps = static_cast<std::int32_t>(all.size());
    part.basis.detailed = static_cast<std::int32_t>(all.size() - poor.size());
    if (poor.empty()) return part;
    part.summary = summary;
    part.summary->steps.eraseIf([&](const StepFacts& step) { return poor.contains(step.step); });
    return part;
}

void keepAllSteps(RecordingSummary& summary) {
    // More than any rule leaves out.
    constexpr std::int64_t kMany = 1'000'000;
    std::erase_if(summary.diagnostics,
                  [](const Diagnostic& each) { return each.code == kSelectedPart; });
    summary.diagnostics.push_back({Severity::kNote, kSelectedPart, "warm-up was left out", "",
                                   std::nullopt, Timestamp{0}, kMany});
}

void takeTrust(const Report& whole, Report& part) {
    part.completeness = whole.completeness;
    part.diagnostics = whole.diagnostics;
    part.events = whole.events;
    part.dropped = whole.dropped;
    part.lost = whole.lost;
    part.fileSize = whole.fileSize;
    part.finalised = whole.finalised;
    part.running = whole.running;
}

void markRunning(Report& report, const char* why) {
    report.running = true;
    report.lost = 0;
    report.judged = {false, {std::string("final figures: ") + why}};
}

}  // namespace shardscope::analysis
