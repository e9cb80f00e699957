// What is asked of the side that serves a recording: what readers are asked (read/questions.h), and
// what a connection is asked besides. The order in `Call` is their number; a change of it, or of
// what travels of a type (wire_types.h, storage/model), is a new kVersion.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"
#include "storage/recording/read/questions.h"
#include "storage/recording/remote/wire_types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace shardscope::storage::remote {

// What lies in a folder, for choosing a recording on another machine.

struct FolderEntry {
    std::string name;
    bool isFolder = false;
    Bytes size;                  ///< of a file
    std::int64_t changedNs = 0;  ///< UTC, since 1970
};

struct FolderList {
    std::string path;                  ///< absolute, as it was found
    std::vector<FolderEntry> entries;  ///< folders first, each by name; recordings and folders
    bool whole = true;                 ///< false: there are more than are listed
};

/// Hidden folders and files that are no `*.sscope` are left out. kUnreadable: no such folder, no
/// access.
Result<FolderList> listFolder(const std::string& path);

/// "~/..." as a path; "~" alone is the home.
[[nodiscard]] std::string withoutTilde(const std::string& path);

inline constexpr std::uint32_t kVersion = 9;

/// Opens a recording in the place of the one that was open.
struct Open {
    using Answer = std::uint8_t;  ///< 1: some process was writing it; 0: none was seen to
    std::string path;             ///< absolute, or "~/..."
};
/// Of strings or arguments (columns::kFirstArguments) from `first` on; empty where there is none.
/// The answer may be shorter, where they are long.
struct Texts {
    using Answer = std::vector<std::string>;
    RankId rank;
    StringId first;
    std::uint32_t count = 0;
};
struct ListFolder {
    using Answer = FolderList;
    std::string path;  ///< absolute, or "~/..."
};

template <class Questions>
struct CallsOf;
template <class... Asked>
struct CallsOf<std::variant<Asked...>> {
    using Any = std::variant<Open, Texts, ListFolder, Asked...>;
};
using Call = CallsOf<Question>::Any;

/// What the answer to a call of that number holds.
[[nodiscard]] const Shape& shapeOfAnswer(std::size_t number);

/// A call as its bytes: its number, then what it holds.
[[nodiscard]] std::vector<std::byte> encodeCall(const Call& call);
/// Nothing: no call can be read out of them.
[[nodiscard]] std::optional<Call> decodeCall(std::span<const std::byte> bytes, std::size_t budget);

/// Strings of a rank that an answer names, once for each connection; they travel before it.
struct NamedText {
    RankId rank;
    StringId id;
    std::string text;
};

/// Of an Error, and of progress while a connection is made (code 0).
struct Said {
    std::int32_t code = 0;
    std::string message;
};

}  // namespace shardscope::storage::remote
