//! Exact average-linkage clustering of points on a line (LSAP 3.2).
