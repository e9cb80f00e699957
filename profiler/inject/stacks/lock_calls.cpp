#include "profiler/inject/stacks/lock_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shardscope::inject {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kFunctionSlots[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#elif defined(__aarch64__)
constexpr std::uint64_t kFunctionSlots[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#else
constexpr std::uint64_t kFunctionSlots[] = {0, 0};
#endif

constexpr char kSave[] = "PyEval_SaveThread";
constexpr char kRestore[] = "PyEval_RestoreThread";

/// A loaded library's tables.
struct Library {
    std::string_view path;  ///< its end
    bool found = false;
    ElfW(Addr) base = 0;
    ElfW(Addr) readOnly = 0, readOnlyEnd = 0;  ///< what the loader has protected
    const char* names = nullptr;
    const ElfW(Sym) * symbols = nullptr;
    const ElfW(Rela) * relocations[2] = {};
    std::size_t counts[2] = {};
};

/// The loader has made addresses of them, unless the section is read-only.
template <class T>
void point(T*& to, ElfW(Addr) value, ElfW(Addr) base) {
    to = reinterpret_cast<T*>(value < base ? base + value : value);
}

void readTables(const ElfW(Dyn) * entry, Library& library) {
    for (; entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Addr) value = entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) point(library.names, value, library.base);
        if (entry->d_tag == DT_SYMTAB) point(library.symbols, value, library.base);
        if (entry->d_tag == DT_JMPREL) point(library.relocations[0], value, library.base);
        if (entry->d_tag == DT_PLTRELSZ) library.counts[0] = value / sizeof(ElfW(Rela));
        if (entry->d_tag == DT_RELA) point(library.relocations[1], value, library.base);
        if (entry->d_tag == DT_RELASZ) library.counts[1] = value / sizeof(ElfW(Rela));
    }
}

int look(dl_phdr_info* info, std::size_t, void* data) {
    auto& library = *static_cast<Library*>(data);
    if (info->dlpi_name == nullptr || !std::string_view(info->dlpi_name).ends_with(library.path))
        return 0;
    library.found = true;
    library.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = info->dlpi_phdr[i];
        const ElfW(Addr) begin = library.base + part.p_vaddr;
        if (part.p_type == PT_GNU_RELRO) {
            library.readOnly = begin;
            library.readOnlyEnd = begin + part.p_memsz;
        }
        if (part.p_type == PT_DYNAMIC)
            readTables(reinterpret_cast<const ElfW(Dyn)*>(begin), library);
    }
    return 1;
}

/// Where the address of a function stands that it calls.
void** slotOf(const Library& library, const char* function) {
    for (const int table : {0, 1})
        for (std::size_t i = 0; i < library.counts[table]; ++i) {
            const ElfW(Rela)& each = library.relocations[table][i];
            const std::uint64_t type = ELF64_R_TYPE(each.r_info);
            if (type != kFunctionSlots[0] && type != kFunctionSlots[1]) continue;
            const ElfW(Sym)& symbol = library.symbols[ELF64_R_SYM(each.r_info)];
            if (std::strcmp(library.names + symbol.st_name, function) == 0)
                return reinterpret_cast<void**>(library.base + each.r_offset);
        }
    return nullptr;
}

/// Whether the slot can be written; what the loader protects has to be opened.
bool open(const Library& library, void** slot, bool writable) {
    const auto at = reinterpret_cast<ElfW(Addr)>(slot);
    if (at < library.readOnly || at >= library.readOnlyEnd) return true;
    const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
    return ::mprotect(reinterpret_cast<void*>(at & ~(page - 1)), page,
                      writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

template <class Function>
void put(const Library& library, void** slot, Function function) {
    __atomic_store_n(slot, reinterpret_cast<void*>(function), __ATOMIC_RELEASE);
    open(library, slot, false);
}

}  // namespace

Result<LockCalls> pythonLockCalls() {
    LockCalls calls;
    calls.save = reinterpret_cast<void* (*)()>(::dlsym(RTLD_DEFAULT, kSave));
    calls.restore = reinterpret_cast<void (*)(void*)>(::dlsym(RTLD_DEFAULT, kRestore));
    if (calls.save != nullptr && calls.restore != nullptr) return calls;
    std::string why = "this Python has no ";
    why.append(calls.save == nullptr ? kSave : kRestore).append("()");
    return failure(ErrorCode::kLaunch, why);
}

Result<void> replaceLockCalls(const char* library, const LockCalls& ours) {
    Library found;
    found.path = library;
    ::dl_iterate_phdr(look, &found);
    const auto refused = [&](const char* why) {
        return failure(ErrorCode::kLaunch, std::string(library).append(why));
    };
    if (!found.found) return refused(" is not loaded");
    void** save = slotOf(found, kSave);
    void** restore = slotOf(found, kRestore);
    if (save == nullptr || restore == nullptr)
        return refused(" does not say where it gives up Python's lock");
    if (!open(found, save, true) || !open(found, restore, true))
        return refused(" is protected against changes");
    put(found, restore, ours.restore);
    // Both may lie in one page, which is protected again now.
    open(found, save, true);
    put(found, save, ours.save);
    return {};
}

}  // namespace shardscope::inject
