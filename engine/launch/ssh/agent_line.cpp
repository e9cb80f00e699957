#include "engine/launch/ssh/agent_line.h"

#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/remote_status.h"
#include "engine/launch/ssh/shell_quoting.h"

namespace shardscope::launch {
namespace {

/// A rank without arguments says how it is used and ends with 2; one that lacks a library does not
/// come so far. Loading LibTorch takes its time, so what was found is remembered, a host each: the
/// folder may be seen by several.
std::string rankCheck() {
    return "m=$f/.loads-$(uname -n); "
           "if [ -e \"$f/bin/shardscope-rank\" ] && [ \"$(cat \"$m\" 2>/dev/null)\" != \"$l\" ]; "
           "then w=$(\"$f/bin/shardscope-rank\" 2>&1 </dev/null); "
           "if [ $? -ne 2 ]; then printf '%s\\n' \"$w\" >&2; " +
           exitWith(RemoteStatus::kRankDoesNotLoad) +
           "; fi; { printf '%s\\n' \"$l\" >\"$m\"; } 2>/dev/null; fi; ";
}

}  // namespace

std::string agentLine(const SshHost& host, const Token& token, const Payload& payload,
                      const std::string& libTorch) {
    return folderWords(host) + "f=$b/shardscope/" + shellWord(payload.program.folder) +
           "; l=" + shellWord(libTorch) + "; touch \"$f/.used\" 2>/dev/null; " + programCheck() +
           "LD_LIBRARY_PATH=$f/lib${l:+:$l}; export LD_LIBRARY_PATH; " + rankCheck() +
           token.printing() + "; exec \"$f/bin/shardscope\" " + payload.verb;
}

}  // namespace shardscope::launch
