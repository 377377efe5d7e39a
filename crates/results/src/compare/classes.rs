//! Classes of jobs.

pub(super) use crate::threshold::{SIZE_NAMES, size_class};

/// Bounds of the run-time classes, in seconds of the trace: a run time of
/// exactly a bound is in the class above.
const RUN_TIMES_S: [f64; 5] = [60.0, 600.0, 3_600.0, 21_600.0, 86_400.0];

/// Names of the run-time classes.
pub(super) const RUN_TIME_NAMES: [&str; 6] = [
    "under 1 min",
    "1-10 min",
    "10-60 min",
    "1-6 h",
    "6-24 h",
    "over 24 h",
];

/// The class of a run time in nanoseconds of the run, which the scale has divided and
/// rounded down: so are the bounds.
pub(super) fn run_time_class(nanos: i64, scale: f64) -> usize {
    RUN_TIMES_S
        .iter()
        .take_while(|bound| nanos as f64 >= (**bound * 1e9 / scale).floor())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_jobs_its_name_says() {
        let size = |processors| SIZE_NAMES[size_class(processors)];
        assert_eq!(
            [size(1), size(2), size(4), size(5)],
            ["1", "2-4", "2-4", "5-16"]
        );
        assert_eq!([size(256), size(257)], ["65-256", "over 256"]);
        let run_time = |millis: i64| RUN_TIME_NAMES[run_time_class(millis * 1_000_000, 1.0)];
        assert_eq!([run_time(0), run_time(59_900)], ["under 1 min"; 2]);
        assert_eq!(
            [run_time(60_000), run_time(86_400_000)],
            ["1-10 min", "over 24 h"]
        );
    }

    #[test]
    fn a_run_time_of_exactly_a_bound_is_above_it_at_any_scale() {
        let class = |nanos: i64, scale: f64| RUN_TIME_NAMES[run_time_class(nanos, scale)];
        for scale in [3, 7, 60, 61] {
            let hour = 3_600_000_000_000 / scale;
            assert_eq!(class(hour, scale as f64), "1-6 h", "{scale}");
            assert_eq!(class(hour - 1, scale as f64), "10-60 min", "{scale}");
        }
    }
}
