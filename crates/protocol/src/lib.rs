//! Wire and file formats: native REST types and resource XML
