// libFuzzer on the importer of Nsight Systems exports: any bytes as an SQLite file.
//
// The file and the recording that comes of it lie in /dev/shm. A corpus of small exports (512-byte
// pages) finds most; dictionary words are names of tables and columns.
#include "storage/interchange/import.h"
#include "storage/interchange/trace_builder.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace shardscope::interchange {

// Compiled again for the fuzzer (CMakeLists.txt).
Result<ReaderResult> readNsysSqlite(const ReaderRequest& request);

namespace {

constexpr const char* kMemory = "/dev/shm/nsys_fuzz.";

void import(const std::string& path) {
    RunFacts run;
    run.id = "fuzz";
    const std::string output = kMemory + std::to_string(getpid()) + ".sscope";
    auto builder = TraceBuilder::create(output, run, true);
    if (!builder) std::abort();
    ReaderRequest request;
    request.path = path;
    request.builder = &*builder;
    request.progress = [](double share) {
        if (!(share >= 0 && share <= 1)) std::abort();
        return true;
    };
    const auto result = readNsysSqlite(request);
    if (!result) {
        // Whatever the bytes are, it is their fault and is said so.
        if (result.error().code != ErrorCode::kUnreadable) std::abort();
        if (result.error().message.find(path) == std::string::npos) std::abort();
        return;
    }
    const ImportAccount& account = result->account;
    if (account.kept + account.rejected() != account.read) std::abort();
    if (!builder->state()) std::abort();
    if (!builder->finish(result->run, result->ended)) std::abort();
    unlink(output.c_str());
}

}  // namespace
}  // namespace shardscope::interchange

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string path = shardscope::interchange::kMemory + std::to_string(getpid());
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) std::abort();
    const bool written = std::fwrite(data, 1, size, file) == size;
    if (std::fclose(file) != 0 || !written) std::abort();
    shardscope::interchange::import(path);
    unlink(path.c_str());
    return 0;
}
