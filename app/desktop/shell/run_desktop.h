// The program: options, window, event loop. Returns the exit status.
#pragma once

namespace shardscope::desktop {

int runDesktop(int argc, char** argv);

}  // namespace shardscope::desktop
