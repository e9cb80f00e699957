#include "engine/launch/ssh/needed_libraries.h"

#include "engine/launch/ssh/child_process.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <type_traits>

namespace shardscope::launch {
namespace {

constexpr std::array<std::string_view, 16> kGlibc = {
    "linux-vdso.", "ld-linux",         "libc.so.",     "libm.so.",
    "libmvec.so.", "libpthread.so.",   "libdl.so.",    "librt.so.",
    "libutil.so.", "libresolv.so.",    "libnsl.so.",   "libanl.so.",
    "libnss_",     "libthread_db.so.", "libcrypt.so.", "libBrokenLocale.so."};

/// "	libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x...)" to the path; empty for other lines.
std::string pathIn(const std::string& line) {
    const auto arrow = line.find(" => /");
    const auto end = line.rfind(" (0x");
    if (arrow == std::string::npos || end == std::string::npos || end < arrow) return {};
    return std::filesystem::path(line.substr(arrow + 4, end - arrow - 4)).lexically_normal();
}

void addOnce(std::vector<std::string>& paths, const std::string& path) {
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

/// "2.36", perhaps with more behind it.
GlibcVersion parseNumbers(std::string_view text) {
    GlibcVersion version;
    const char* end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, version.major);
    if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return {};
    if (std::from_chars(major.ptr + 1, end, version.minor).ec != std::errc()) return {};
    return version;
}

/// Pieces of a file; nothing beyond its end.
class ElfFile {
public:
    explicit ElfFile(const std::string& path) : m_file(path, std::ios::binary) {}

    [[nodiscard]] bool isOpen() const { return m_file.is_open(); }

    template <class T>
    std::optional<T> at(std::uint64_t offset) {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        m_file.clear();
        m_file.seekg(static_cast<std::streamoff>(offset));
        m_file.read(reinterpret_cast<char*>(&value), sizeof value);
        if (!m_file) return std::nullopt;
        return value;
    }

    std::string textAt(std::uint64_t offset) {
        m_file.clear();
        m_file.seekg(static_cast<std::streamoff>(offset));
        std::string text;
        for (char each = 0; text.size() < 64 && m_file.get(each) && each != '\0';) text += each;
        return text;
    }

private:
    std::ifstream m_file;
};

constexpr std::string_view kPrefix = "GLIBC_";

/// Over one section of references: a chain of libraries, a chain of versions of each.
GlibcVersion newestIn(ElfFile& file, const Elf64_Shdr& section, std::uint64_t names) {
    GlibcVersion newest;
    std::uint64_t at = section.sh_offset;
    for (Elf64_Word library = 0; library < section.sh_info; ++library) {
        const auto need = file.at<Elf64_Verneed>(at);
        if (!need) return newest;
        std::uint64_t entryAt = at + need->vn_aux;
        for (Elf64_Half i = 0; i < need->vn_cnt; ++i) {
            const auto entry = file.at<Elf64_Vernaux>(entryAt);
            if (!entry) return newest;
            const std::string name = file.textAt(names + entry->vna_name);
            if (name.starts_with(kPrefix))
                newest =
                    std::max(newest, parseNumbers(std::string_view(name).substr(kPrefix.size())));
            entryAt += entry->vna_next;
        }
        at += need->vn_next;
    }
    return newest;
}

}  // namespace

bool isGlibc(std::string_view fileName) {
    return std::any_of(kGlibc.begin(), kGlibc.end(),
                       [&](std::string_view each) { return fileName.starts_with(each); });
}

SharedLibraries parseLdd(std::string_view output) {
    SharedLibraries libraries;
    std::vector<std::string> paths;
    std::istringstream lines{std::string(output)};
    for (std::string line; std::getline(lines, line);) {
        const std::filesystem::path path = pathIn(line);
        if (path.empty() || isGlibc(path.filename().string())) continue;
        addOnce(paths, path.string());
        if (path.filename() == "libtorch_cpu.so")
            libraries.libTorchRoot = path.parent_path().parent_path().parent_path().string();
    }
    const std::string below = libraries.libTorchRoot + "/";
    for (const std::string& path : paths) {
        const bool ofTorch = below.size() > 1 && path.starts_with(below);
        (ofTorch ? libraries.libTorch : libraries.own).push_back(path);
    }
    return libraries;
}

Result<SharedLibraries> sharedLibraries(const std::vector<std::string>& programs) {
    std::string all;
    for (const std::string& program : programs) {
        if (::access(program.c_str(), X_OK) != 0) continue;
        const auto output = outputOf({"ldd", program});
        if (!output) return failure(output, "what libraries are to be sent to hosts");
        if (const auto lacks = output->find("not found"); lacks != std::string::npos)
            return failure(ErrorCode::kLaunch, fmt::format("{} lacks a library on this host; see "
                                                           "ldd {}",
                                                           program, program));
        all += *output;
    }
    return parseLdd(all);
}

GlibcVersion parseGlibc(std::string_view text) {
    // "glibc 2.36", "ldd (Debian GLIBC 2.36-9+deb12u9) 2.36"; but "musl libc (x86_64)".
    if (text.find("musl") != text.npos) return {};
    if (text.find("glibc") == text.npos && text.find("ldd") == text.npos) return {};
    const auto blank = text.rfind(' ');
    return blank == text.npos ? GlibcVersion{} : parseNumbers(text.substr(blank + 1));
}

Result<GlibcVersion> neededGlibc(const std::string& path) {
    ElfFile file(path);
    if (!file.isOpen())
        return failure(ErrorCode::kUnreadable, fmt::format("{} cannot be read", path));
    const auto header = file.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return GlibcVersion{};
    const auto sectionAt = [&](std::uint64_t index) {
        return file.at<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto section = sectionAt(i);
        if (!section || section->sh_type != SHT_GNU_verneed) continue;
        const auto names = sectionAt(section->sh_link);
        if (names) return newestIn(file, *section, names->sh_offset);
    }
    return GlibcVersion{};
}

}  // namespace shardscope::launch
