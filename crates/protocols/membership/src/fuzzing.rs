//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.
