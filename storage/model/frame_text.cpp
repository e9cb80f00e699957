#include "storage/model/frame_text.h"

#include <fmt/format.h>

namespace shardscope {
namespace {

std::string_view shortPath(std::string_view path) {
    for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
        if (const auto at = path.rfind(folder); at != std::string_view::npos)
            return path.substr(at + folder.size());
    return path;
}

}  // namespace

std::string frameText(std::string_view file, std::int64_t line, std::string_view name) {
    return file.empty() ? std::string(name)
                        : fmt::format("{}({}): {}", shortPath(file), line, name);
}

}  // namespace shardscope
