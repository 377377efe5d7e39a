//! Explicit, countable rules that leave jobs out.
