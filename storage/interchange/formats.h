// The formats that recordings come from and go to. Each lies in a folder of its own, which offers
// one Format; formats.cpp lists them, and import, export and their help go over that list.
#pragma once

#include "storage/interchange/export.h"
#include "storage/interchange/import.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

/// One of several tables that a format holds one of.
struct FormatView {
    const char* name;                                         ///< of `export --view`
    const char* rows;                                         ///< "one row per kernel"
    bool (*isIn)(const RecordingSummary& summary) = nullptr;  ///< null: unknown
};

struct Format {
    const char* name;  ///< of `export --format`
    const char* file;  ///< what sentences call a file of it: "a PyTorch profiler (Kineto) trace"

    // Of formats that are read; the others leave them out.
    const char* reads = "";                               ///< for the help of import
    std::vector<const char*> endings{};                   ///< of its files in a folder
    bool (*looksLike)(std::string_view front) = nullptr;  ///< from the first 64 KiB, unpacked
    /// Of a file that looks like it, whether it is; null: what looks like one is one.
    bool (*isOne)(const std::string& path) = nullptr;
    Result<ReaderResult> (*read)(const ReaderRequest&) = nullptr;  ///< null: as recordings are

    // Of formats that are written.
    const char* writes = "";          ///< what it is good for, in a phrase
    const char* option = "";          ///< of export that this format alone heeds: "--hta"
    const char* ending = "";          ///< of its file
    bool filePerRank = false;         ///< of several ranks it is a folder with a file of each
    std::vector<FormatView> views{};  ///< one of them is to be chosen; none: there is no choice
    bool (*isIn)(const RecordingSummary& summary) = nullptr;  ///< null: there is something to write
    Result<ExportAccount> (*write)(storage::RecordingReader&, const ExportOptions&) = nullptr;
};

/// In the order of the help, and in which a file is looked at: the first that it looks like counts.
[[nodiscard]] const std::vector<Format>& formats();
[[nodiscard]] const Format* findFormat(std::string_view name);
/// The longest ending of the format's files that `path` has; empty: none.
[[nodiscard]] std::string_view endingOf(const Format& format, std::string_view path);
/// Writes, and notes which of the recording's detail is missing in the output.
/// Errors are the format's.
[[nodiscard]] Result<ExportAccount> writeAs(const Format& format, storage::RecordingReader& reader,
                                            const ExportOptions& options);
/// Whether that makes a folder of those ranks (none: all); false where one of them is not there.
[[nodiscard]] bool writesFolder(const Format& format, const RecordingSummary& summary,
                                const std::vector<RankId>& ranks);
/// "*.json, *.json.gz, *.pickle": endings of all that is read.
[[nodiscard]] std::string readEndings();

/// From the first bytes of a file (64 KiB are enough), gzip looked through. kUnreadable with a
/// sentence that names what it seems to be instead ("an execution trace", "truncated gzip").
/// `title` is what sentences call the file; empty: its path.
Result<const Format*> recogniseTrace(const std::string& path, const std::string& title = {});

}  // namespace shardscope::interchange
