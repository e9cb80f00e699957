// Opcodes of Python's pickle that memory snapshots use (Lib/pickletools.py), and the names of
// those that are refused.
#pragma once

#include <cstdint>

namespace shardscope::interchange::opcode {

inline constexpr std::uint8_t kMark = '(', kStop = '.', kPop = '0', kPopMark = '1', kNone = 'N';
inline constexpr std::uint8_t kInt4 = 'J', kInt1 = 'K', kInt2 = 'M', kReal = 'G';
inline constexpr std::uint8_t kText4 = 'X', kBytes4 = 'B', kBytes1 = 'C', kString4 = 'T',
                              kString1 = 'U';
inline constexpr std::uint8_t kEmptyList = ']', kEmptyDict = '}', kEmptyTuple = ')', kList = 'l',
                              kDict = 'd', kTuple = 't', kAppend = 'a', kAppends = 'e',
                              kSetItem = 's', kSetItems = 'u';
inline constexpr std::uint8_t kPut1 = 'q', kPut4 = 'r', kGet1 = 'h', kGet4 = 'j';
inline constexpr std::uint8_t kProtocol = 0x80, kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87,
                              kTrue = 0x88, kFalse = 0x89, kLong1 = 0x8a, kLong4 = 0x8b;
inline constexpr std::uint8_t kText1 = 0x8c, kText8 = 0x8d, kBytes8 = 0x8e, kMemoize = 0x94,
                              kFrame = 0x95, kByteArray8 = 0x96;

/// What an opcode that is not read would do; null where there is no such opcode.
[[nodiscard]] constexpr const char* refused(std::uint8_t code) {
    switch (code) {
        case 'c':
            return "GLOBAL, which imports code";
        case 0x93:
            return "STACK_GLOBAL, which imports code";
        case 'R':
            return "REDUCE, which calls code";
        case 'b':
            return "BUILD, which calls code";
        case 'i':
            return "INST, which calls code";
        case 'o':
            return "OBJ, which calls code";
        case 0x81:
            return "NEWOBJ, which makes objects";
        case 0x92:
            return "NEWOBJ_EX, which makes objects";
        case 'P':
            return "PERSID, which asks for objects from outside";
        case 'Q':
            return "BINPERSID, which asks for objects from outside";
        case 0x82:
            return "EXT1, which imports code";
        case 0x83:
            return "EXT2, which imports code";
        case 0x84:
            return "EXT4, which imports code";
        case 0x8f:
            return "EMPTY_SET: sets are in no memory snapshot";
        case 0x90:
            return "ADDITEMS: sets are in no memory snapshot";
        case 0x91:
            return "FROZENSET: sets are in no memory snapshot";
        case 0x97:
            return "NEXT_BUFFER, which asks for buffers from outside";
        case 0x98:
            return "READONLY_BUFFER, which asks for buffers from outside";
        case 'I':
        case 'L':
        case 'F':
        case 'S':
        case 'V':
        case 'p':
        case 'g':
        case '2':
            return "an opcode of protocol 0, which no memory snapshot is written in";
        default:
            return nullptr;
    }
}

}  // namespace shardscope::interchange::opcode
