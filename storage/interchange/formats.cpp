#include "storage/interchange/formats.h"

#include "storage/interchange/formats/export_scope.h"
#include "storage/model/detail.h"

namespace shardscope::interchange {

// One line a format, here and in the list: each is defined in its folder.
Format recordingFormat();
Format perfettoFormat();
Format kinetoFormat();
Format nsysFormat();
Format memorySnapshotFormat();
Format foldedFormat();
Format speedscopeFormat();
Format csvFormat();

const std::vector<Format>& formats() {
    static const std::vector<Format> kAll = {
        recordingFormat(), kinetoFormat(),   nsysFormat(),       memorySnapshotFormat(),
        foldedFormat(),    perfettoFormat(), speedscopeFormat(), csvFormat()};
    return kAll;
}

const Format* findFormat(std::string_view name) {
    for (const Format& format : formats())
        if (name == format.name) return &format;
    return nullptr;
}

std::string_view endingOf(const Format& format, std::string_view path) {
    std::string_view longest;
    const auto consider = [&](std::string_view ending) {
        if (path.ends_with(ending) && ending.size() > longest.size()) longest = ending;
    };
    consider(format.ending);
    for (const char* ending : format.endings) consider(ending);
    return longest;
}

Result<ExportAccount> writeAs(const Format& format, storage::RecordingReader& reader,
                              const ExportOptions& options) {
    auto account = format.write(reader, options);
    if (!account) return account;
    if (const auto summary = reader.summary())
        for (const std::string& phrase : detailPhrases(summary->detail))
            account->notes.push_back("some detail is not in the recording: " + phrase);
    return account;
}

bool writesFolder(const Format& format, const RecordingSummary& summary,
                  const std::vector<RankId>& ranks) {
    if (!format.filePerRank) return false;
    const auto written = exportedRanks(summary, ranks);
    return written && written->size() > 1;
}

std::string readEndings() {
    std::string list;
    for (const Format& format : formats())
        for (const char* ending : format.endings)
            list.append(list.empty() ? "*" : ", *").append(ending);
    return list;
}

}  // namespace shardscope::interchange
