//! What the fuzz targets run.
