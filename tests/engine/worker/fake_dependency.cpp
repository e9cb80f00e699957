// What a fake module may need, and not find when it is loaded.
extern "C" __attribute__((visibility("default"))) int shardscopeFakeDependency();

int shardscopeFakeDependency() {
    return 13000;
}
