// What exports and tokenize write, recognised by its first bytes before --force replaces it.
#pragma once

#include "storage/recording/file/output_file.h"

namespace shardscope::interchange {

[[nodiscard]] bool isKinetoFile(const std::string& path);
[[nodiscard]] bool isPerfettoFile(const std::string& path);
[[nodiscard]] bool isNsysFile(const std::string& path);
[[nodiscard]] bool isSnapshotFile(const std::string& path);
[[nodiscard]] bool isFoldedFile(const std::string& path);
[[nodiscard]] bool isSpeedscopeFile(const std::string& path);
[[nodiscard]] bool isCsvFile(const std::string& path);
[[nodiscard]] bool isReportFile(const std::string& path);
[[nodiscard]] bool isSafetensorsFile(const std::string& path);
[[nodiscard]] bool isTokenizerFile(const std::string& path);
/// Token files of nanoGPT have nothing to know them by but their name and an even length.
[[nodiscard]] bool isTokenFile(const std::string& path);
[[nodiscard]] bool isTextFile(const std::string& path);

inline constexpr storage::Replaceable kKinetoFile{"a Kineto trace", isKinetoFile};
inline constexpr storage::Replaceable kPerfettoFile{"a Perfetto trace", isPerfettoFile};
inline constexpr storage::Replaceable kNsysFile{"an Nsight Systems export", isNsysFile};
inline constexpr storage::Replaceable kSnapshotFile{"a memory snapshot", isSnapshotFile};
inline constexpr storage::Replaceable kFoldedFile{"a file of folded stacks", isFoldedFile};
inline constexpr storage::Replaceable kSpeedscopeFile{"a speedscope file", isSpeedscopeFile};
inline constexpr storage::Replaceable kCsvFile{"a CSV file", isCsvFile};
inline constexpr storage::Replaceable kReportFile{"a report of Shardscope", isReportFile};
inline constexpr storage::Replaceable kSafetensorsFile{"a safetensors file", isSafetensorsFile};
inline constexpr storage::Replaceable kTokenizerFile{"a tokenizer.json", isTokenizerFile};
inline constexpr storage::Replaceable kTokenFile{"a token file", isTokenFile};
inline constexpr storage::Replaceable kTextFile{"a text file", isTextFile};

}  // namespace shardscope::interchange
