// What a host is and has, found out before anything is started or left there.
#pragma once

#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/needed_libraries.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

/// LibTorch of the version that ranks are built with.
[[nodiscard]] const char* libTorchVersion();
/// Ends the name of a folder that holds LibTorch with its CUDA part, sent there.
inline constexpr const char* kCudaFolder = "-cuda";

struct HostLook {
    bool whole = false;  ///< all was answered
    std::string system;  ///< "Linux x86_64"
    GlibcVersion glibc;
    int cores = 0;  ///< that a process may use; 0: unknown
    std::optional<Bytes> freeMemory;
    std::optional<Bytes> freeDisk;  ///< where the folder is or is going to be
    std::string folder;             ///< absolute; the program is put below
    bool writable = false;          ///< the folder, or the one that it is going to be made in
    std::string inTheWay;           ///< what is no folder and is where one would be; empty: nothing
    bool programThere = false;      ///< the very one that was asked for, as it was sent
    bool programDamaged = false;    ///< it is there, and files of it are not as they were sent
    bool dataThere = false;         ///< all of the data that was asked for, as it was sent
    bool dataChanged = false;       ///< it is there, and was changed
    std::string libTorch;           ///< its library folders, with colons between; empty: none
    std::string otherTorch;         ///< version of another LibTorch that python3 there has
    bool torchCuda = false;         ///< that LibTorch has a CUDA part
    std::string python;             ///< path of python3; empty: none
    /// Where there is no LibTorch: programs that fetch-libtorch lacks there.
    std::vector<std::string> fetchLacks;
    std::vector<std::string> gpus;  ///< names, as nvidia-smi tells them
    std::string driver;             ///< version of theirs; empty: unknown
    std::string reachedAt;          ///< that host's address that its ssh server was reached at
    std::optional<std::int64_t> clockNs;  ///< its wall clock when it was asked
    std::int64_t clockAhead = 0;          ///< of ours, ns, where clockNs is known
    std::int64_t clockError = 0;          ///< bound on that
    bool noisy = false;                   ///< its login shell prints where it should not
};

/// The shell line that defines b, the absolute path of the host's folder.
[[nodiscard]] std::string folderWords(const SshHost& host);

/// The shell function `same FOLDER`, for a subshell: whether the files in folders of a package are
/// those that were sent. Sums are computed again only where a file was changed since they last
/// were.
[[nodiscard]] std::string sameContents();

/// The shell function `whole FOLDER`, for a subshell: whether a program's package, whose folder is
/// named for its sums, holds the files that were sent, all of them and no others. Sums are always
/// computed: 23 MB take 0.1 s, and what is run is what was looked at.
[[nodiscard]] std::string wholePackage();

/// What the host is asked; it then runs one more line, which it reads, or ends where its input
/// does. `program` and `data` are names of folders there; no data: it is not asked for.
[[nodiscard]] std::string lookLine(const SshHost& host, const Token& token,
                                   const std::string& program, const std::string& data = {});

/// Its answer: a key=value a line.
[[nodiscard]] HostLook parseLook(const std::string& answer);

}  // namespace shardscope::launch
