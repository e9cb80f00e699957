// The enumerators of an enumeration as the compiler knows them, to hold lists against.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::test {

/// A value that has no enumerator is printed as a cast: "(shardscope::Phase)99".
template <auto Value>
constexpr bool isEnumerator() {
    constexpr std::string_view name = __PRETTY_FUNCTION__;
    constexpr std::string_view front = "Value = ";
    return name[name.find(front) + front.size()] != '(';
}

/// In order of their values, which lie from 0 to 255.
template <class Enum>
std::vector<Enum> enumerators() {
    std::vector<Enum> all;
    [&]<int... value>(std::integer_sequence<int, value...>) {
        ((isEnumerator<static_cast<Enum>(value)>() ? all.push_back(static_cast<Enum>(value))
                                                   : void()),
         ...);
    }
    (std::make_integer_sequence<int, 256>());
    return all;
}

}  // namespace shardscope::test
