#include "engine/launch/ssh/glibc_version.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <type_traits>
#include <vector>

namespace shardscope::launch {
namespace {

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
