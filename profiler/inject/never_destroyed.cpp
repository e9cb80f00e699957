// Nothing static of this library is destroyed at exit.
//
// Our thread, threads of PyTorch's pools and destructors of the program's other libraries run until
// the very end of a process, and call us until then. Linked with --wrap=__cxa_atexit, so that this
// stands for what the compiler calls to have an object destroyed.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name for it
extern "C" int __wrap___cxa_atexit(void (*destroy)(void*), void* object, void* library) {
    static_cast<void>(destroy);
    static_cast<void>(object);
    static_cast<void>(library);
    return 0;
}
