#include "engine/launch/host_facts.h"

#include "engine/launch/usable_cores.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace shardscope::launch {
namespace {

std::string firstLine(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string processorName() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with("model name")) continue;
        const auto colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    utsname names{};
    return ::uname(&names) == 0 ? std::string(names.machine) : "unknown";
}

}  // namespace

std::optional<Bytes> freeMemory() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    for (std::int64_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, key))
        if (key == "MemAvailable:") return Bytes{kilobytes * 1024};
    return std::nullopt;
}

HostFacts hostFacts() {
    HostFacts facts;
    utsname names{};
    facts.name = ::uname(&names) == 0 ? names.nodename : "unknown";
    facts.cpu = processorName();
    facts.cores = usableCores();
    facts.memory = Bytes{static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE))};
    facts.bootId = firstLine("/proc/sys/kernel/random/boot_id");
    return facts;
}

}  // namespace shardscope::launch
