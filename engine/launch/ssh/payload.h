// What is put on a host: this program, ranks, and the libraries of theirs that no system brings.
#pragma once

#include "engine/launch/ssh/needed_libraries.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {

struct PackageFile {
    std::string path;  ///< here
    std::string name;  ///< in the package, e.g. "lib/libfmt.so.9"; at most 100 bytes
    std::string sum;   ///< SHA-256
    Bytes size;
};

/// The file of a package that says what all others must be.
inline constexpr const char* kSumsFile = "SHA256SUMS";

/// packaging/fetch-libtorch and what it reads, in the program's package and beside the program
/// here.
inline constexpr const char* kFetchScript = "share/fetch-libtorch";
inline constexpr const char* kFetchList = "share/dependencies.env";

/// Room that fetch-libtorch takes while it works.
struct FetchRoom {
    Bytes cpu;
    Bytes cuda;  ///< with all that ranks need on GPUs
};

/// Files that come to lie in one folder.
struct Package {
    std::string folder;              ///< name of it, below "shardscope" in the host's folder
    std::vector<PackageFile> files;  ///< one at least; where the first one is, all are

    [[nodiscard]] Bytes size() const;
    /// As sha256sum checks them.
    [[nodiscard]] std::string sums() const;
};

struct Payload {
    Package program;                  ///< bin/ and lib/; its folder is named for the contents
    std::optional<FetchRoom> fetch;   ///< where the program's package holds fetch-libtorch
    std::optional<Package> libTorch;  ///< as fetch-libtorch lays it out; where it was asked for
    bool libTorchCuda = false;        ///< it holds all that ranks need on GPUs
    std::optional<Package> data;      ///< what is trained on; where it is sent along
    GlibcVersion glibc;               ///< the oldest that all programs run with
    std::string verb = "agent";       ///< what the program is started as there, in sh's words

    [[nodiscard]] bool hasRank() const;
    /// Ranks of it can run on GPUs.
    [[nodiscard]] bool hasGpuPart() const;
};

/// {path here, name in the package}
using PackageNames = std::vector<std::pair<std::string, std::string>>;

/// The package of these files, named for their contents.
Result<Package> packageOf(const PackageNames& names, const std::string& sumsMemory);

/// Which part of this machine's LibTorch goes along.
enum class LibTorchPart { kNone, kCpu, kCuda };

/// Of the programs in `folder`: shardscope, shardscope-rank, its GPU part and fetch-libtorch if
/// they are there. What libraries they need is found by ldd.
Result<Payload> findPayload(const std::string& folder, LibTorchPart libTorch);

/// Of these libraries: nothing where there is no LibTorch among them; its CUDA part, all that lies
/// beside it, only where it is whole.
Result<void> addLibTorch(const SharedLibraries& found, LibTorchPart part,
                         const std::string& sumsMemory, Payload& payload);

/// Room for what fetch-libtorch fetches, by its list; where it says nothing: none.
[[nodiscard]] FetchRoom fetchRoom(const std::string& list);

/// Of `shardscope` in `folder` with what it puts into programs that it records; no LibTorch is
/// needed but the program's own.
Result<Payload> findProgramPayload(const std::string& folder);

/// Of `shardscope` in `folder` alone, which serves recordings there and needs no LibTorch.
Result<Payload> findServingPayload(const std::string& folder);

}  // namespace shardscope::launch
