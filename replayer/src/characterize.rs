//! What a trace is like: tables, profiles, demand (LSAP 4.2, DMM 2.2 and 5.1).
