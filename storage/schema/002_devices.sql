-- Version 1.1: accelerators of GPU ranks.
CREATE TABLE devices (
    rank INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    uuid TEXT NOT NULL,
    pci_bus_id TEXT NOT NULL,
    memory_bytes INTEGER NOT NULL,
    driver TEXT NOT NULL,
    shared_by INTEGER NOT NULL,
    mig INTEGER NOT NULL,
    attention TEXT NOT NULL,
    tracing TEXT NOT NULL,
    vendor_peak_flops REAL,
    vendor_peak_source TEXT NOT NULL,
    measured_peak_flops REAL,
    measured_peak_source TEXT NOT NULL,
    clock_error_ns INTEGER NOT NULL
) STRICT;
