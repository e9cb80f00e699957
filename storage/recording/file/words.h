// Words of enumerations as SQL writes them.
#pragma once

#include "storage/model/words.h"

#include <string>

namespace shardscope::storage {

/// "'none','demand'": all words of an enumeration as SQL texts.
template <Worded Enum>
[[nodiscard]] std::string wordsSql() {
    std::string list;
    for (const auto& entry : kWords<Enum>)
        list.append(list.empty() ? "'" : ",'").append(entry.word) += '\'';
    return list;
}

}  // namespace shardscope::storage
