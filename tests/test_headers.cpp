// Compiled for its precompiled header, which the test programs share (tests/CMakeLists.txt).
