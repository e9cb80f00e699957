// Between a reader here and `shardscope serve --stdio` on another host: connects, puts the program
// there, and carries bytes both ways.
#pragma once

#include <string>

namespace shardscope::cli {

/// Speaks on standard input and output (storage/recording/remote): how far it is, why it cannot
/// connect, and from then on what the host says. Ends when standard input does, or the host goes,
/// and leaves nothing there. Exit status: 0, 4 the host cannot be had or was lost.
int serveFrom(const std::string& target, const std::string& sshCommand);

}  // namespace shardscope::cli
