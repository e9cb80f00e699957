#include "storage/interchange/formats.h"

#include "storage/interchange/byte_source.h"
#include "storage/interchange/formats/export_scope.h"
#include "storage/model/detail.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kFront = std::size_t{64} << 10;

struct Magic {
    std::string_view bytes;
    const char* what;
};
/// What people mistake for traces.
constexpr Magic kOthers[] = {{"\x7f"
                              "ELF",
                              "a program"},
                             {"PK\x03\x04", "a zip archive: unpack it first"},
                             {"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"},
                             {"BZh", "compressed with bzip2: unpack it first"},
                             {"\xfd"
                              "7zXZ",
                              "compressed with xz: unpack it first"},
                             {"\x1f\x8b", "gzip within gzip: unpack it once"},
                             {"\x89PNG", "a picture"},
                             {"\x93NUMPY", "a NumPy array"},
                             {"<", "HTML or XML"},
                             {"NVIDIA Tegra Profiler Report",
                              "a report of Nsight Systems: convert it with `nsys export --type "
                              "sqlite FILE`, and import the .sqlite file"},
                             {"QDSTRM",
                              "raw data of Nsight Systems: convert it with QdstrmImporter, then "
                              "with `nsys export --type sqlite`"},
                             {"PERFILE2",
                              "data of Linux perf: convert it with `perf script -i FILE | "
                              "stackcollapse-perf.pl`, and import the folded stacks"},
                             // LZ4, which memray and others pack with
                             {"\x04\x22\x4d\x18",
                              "packed with lz4: unpack it first; of a capture of memray, which has "
                              "no times of a program, `memray flamegraph FILE` shows it"},
                             {"memray",
                              "a capture of memray, which has no times of a program: `memray "
                              "flamegraph FILE` shows it"}};

/// A message as a Perfetto trace is one, of planes that have these names.
bool isXplane(std::string_view text) {
    const std::string_view front = text.substr(0, 4096);
    return text.starts_with('\x0a') && (front.find("/host:CPU") != std::string_view::npos ||
                                        front.find("/host:metadata") != std::string_view::npos ||
                                        front.find("/device:") != std::string_view::npos ||
                                        front.find("Task Environment") != std::string_view::npos);
}

Result<std::string> frontOf(const std::string& path, const std::string& title) {
    auto source = openBytes(path, title, CutGzip::kSalvaged);
    if (!source) return failure(source);
    std::string front(kFront, '\0');
    std::size_t filled = 0;
    while (filled < front.size()) {
        auto count = (*source)->read(std::span(front).subspan(filled));
        if (!count) {
            // Enough to tell what it is; the reader will say where it breaks.
            if (filled > 0) break;
            return failure(count);
        }
        if (*count == 0) break;
        filled += *count;
    }
    if (const std::string fault = (*source)->fault(); filled == 0 && !fault.empty())
        return failure(ErrorCode::kUnreadable, title + " " + fault);
    front.resize(filled);
    return front;
}

}  // namespace

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

Result<const Format*> recogniseTrace(const std::string& path, const std::string& title) {
    const std::string name = title.empty() ? path : title;
    auto front = frontOf(path, name);
    if (!front) return failure(front);
    std::string_view text = *front;
    if (text.empty()) return failure(ErrorCode::kUnreadable, name + " is empty");
    for (const Magic& magic : kOthers)
        if (text.starts_with(magic.bytes))
            return failure(ErrorCode::kUnreadable,
                           name + " is no trace: it is " + std::string(magic.what));
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    // Its every second byte is zero, or it says so itself.
    const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                       (text.size() > 1 && (text[0] == '\0') != (text[1] == '\0') &&
                        (text[0] == '{' || text[1] == '{' || text[0] == '[' || text[1] == '['));
    if (utf16)
        return failure(ErrorCode::kUnreadable,
                       name +
                           " is text in UTF-16, and traces are in UTF-8: convert it with `iconv -f "
                           "UTF-16 -t UTF-8`");
    if (isXplane(text))
        return failure(ErrorCode::kUnreadable,
                       name +
                           " is a profile of XLA (xplane.pb): import the trace.json.gz that JAX "
                           "writes beside it, or convert it (`pip install xprof`) with "
                           "`python3 -c 'from sys import argv; from xprof.convert import "
                           "raw_to_tool_data as r; open(argv[2], \"w\").write("
                           "r.xspace_to_tool_data([argv[1]], \"trace_viewer\", {})[0])' "
                           "FILE.xplane.pb trace.json`");
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return failure(ErrorCode::kUnreadable, name + " holds nothing but white space");
    for (const Format& format : formats())
        if (format.looksLike != nullptr && format.looksLike(text)) return &format;
    return failure(ErrorCode::kUnreadable,
                   name +
                       " is no trace that Shardscope knows: it is not JSON, nor an SQLite "
                       "export, a memory snapshot or folded stacks");
}

}  // namespace shardscope::interchange
