#include "tests/gpu/loaded_module.h"

#include <dlfcn.h>

#include <filesystem>

namespace shardscope::worker {
namespace {

LoadedModule load() {
    const auto path =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libshardscope_cuda.so";
    LoadedModule loaded;
    // As shardscope-rank does: LibTorch's operators find each other through global symbols.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        loaded.error = dlerror();
        loaded.incomplete =
            loaded.error.find("cannot open shared object file") != std::string::npos &&
            loaded.error.find(path.string()) != 0;
        return loaded;
    }
    // POSIX promises that a pointer of dlsym can be a function's.
    const auto function = reinterpret_cast<CudaModuleFunction>(dlsym(library, kCudaModuleSymbol));
    if (function == nullptr) {
        loaded.error = dlerror();
    } else {
        loaded.module = function();
    }
    return loaded;
}

}  // namespace

const LoadedModule& loadedModule() {
    static const LoadedModule loaded = load();
    return loaded;
}

}  // namespace shardscope::worker
