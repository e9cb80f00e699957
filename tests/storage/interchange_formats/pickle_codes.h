// Pickles by hand, for tests.
#pragma once

#include <initializer_list>
#include <string>

namespace shardscope::interchange {

inline std::string bytes(std::initializer_list<int> codes) {
    std::string text;
    for (const int code : codes) text += static_cast<char>(code);
    return text;
}
inline const std::string kProtocol4 = bytes({0x80, 4});

}  // namespace shardscope::interchange
