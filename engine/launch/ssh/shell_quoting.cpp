#include "engine/launch/ssh/shell_quoting.h"

namespace shardscope::launch {

std::string throughLoginShell(std::string_view line) {
    // Outside of quotes all shells read these three alike; inside, fish takes backslashes as
    // escapes and csh puts its history in for an exclamation mark.
    std::string command = "exec /bin/sh -c '";
    for (const char each : line) {
        if (each == '\'' || each == '\\' || each == '!') {
            command += std::string("'\\") + each + "'";
        } else {
            command += each;
        }
    }
    return command + "'";
}

}  // namespace shardscope::launch
