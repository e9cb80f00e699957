#include "app/cli/export_report.h"

#include "app/cli/info_json.h"
#include "app/cli/report_of.h"
#include "profiler/analysis/part.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/output_kind.h"

#include <fmt/format.h>

namespace shardscope::cli {
namespace {

Result<std::string> verification(const RecordingPlace& place) {
    if (auto file = requireFile(place, "info --verify --json"); !file) return failure(file);
    const auto found = storage::verifyRecording(place.path);
    if (!found) return failure(found);
    return verificationJson(*found);
}

Result<std::string> documentOf(const RecordingPlace& place, const OpenedRecording& recording,
                               const std::string& report) {
    if (report == "verification") return verification(place);
    if (report != "overview" && report != "info")
        return failure(ErrorCode::kUsage, fmt::format("unknown report '{}': there is {}", report,
                                                      fmt::join(kReports, ", ")));
    if (report == "info") {
        const auto summary = recording->summary();
        if (!summary) return failure(summary);
        return infoJson(*summary, recording.isRunning(summary->complete));
    }
    auto overview = reportOf(*recording, false);
    if (!overview) return failure(overview);
    if (recording.isRunning(overview->finalised)) analysis::markRunning(*overview);
    return analysis::toJson(*overview);
}

}  // namespace

Result<interchange::ExportAccount> exportReport(const RecordingPlace& place,
                                                const OpenedRecording& recording,
                                                const std::string& report,
                                                const interchange::ExportOptions& options) {
    if (options.range || !options.ranks.empty())
        return failure(ErrorCode::kUsage,
                       "a report is of a whole recording: export the part with --format sscope "
                       "and report on that");
    const auto document = documentOf(place, recording, report);
    if (!document) return failure(document);
    auto writer =
        interchange::ExportWriter::open(interchange::outputOf(options, interchange::kReportFile));
    if (!writer) return failure(writer);
    writer->write(*document);
    writer->write("\n");
    if (auto done = writer->finish(); !done) return failure(done);
    return interchange::ExportAccount{0, {options.output}, {}};
}

}  // namespace shardscope::cli
