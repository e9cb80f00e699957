#include "app/desktop/shell/run_desktop.h"

int main(int argc, char** argv) {
    return shardscope::desktop::runDesktop(argc, argv);
}
