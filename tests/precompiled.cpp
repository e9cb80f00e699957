// For shardscope_test_headers: precompiled headers belong to a target, and a target has a source.
