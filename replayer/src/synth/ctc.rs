//! A week like the CTC week of the LSAP paper.

use super::model::{Group, Model, Published};

/// The seed is the one of 1 to 14 whose peak demand and delay on 450 processors
/// are nearest to the paper.
///
/// Full days and quiet nights of a batch machine with an 18 h limit.
pub(super) const MODEL: Model = Model {
    stands_for: "stands in for the CTC week of Liu et al., LSAP 2009, Tables 1 and 2",
    stream: "ctc-like",
    seed: 10,
    jobs: 480,
    max_processors: 450,
    // Tuesday 09:00.
    unix_start: 1_704_186_000,
    start_in_week: 86_400 + 9 * 3_600,
    start_time: "Tue Jan 02 09:00:00 UTC 2024",
    end_time: "Tue Jan 09 09:00:00 UTC 2024",
    run_time: Published {
        max: 1081,
        mean: 223.9,
        sd: 332.7,
    },
    size: Published {
        max: 162,
        mean: 14.0,
        sd: 29.4,
    },
    run_quantiles: &[
        (0, 15),
        (100, 70),
        (250, 240),
        (400, 700),
        (500, 1_500),
        (600, 4_500),
        (700, 12_000),
        (800, 26_000),
        (870, 44_000),
        (920, 63_000),
        (1000, 64_850),
    ],
    run_step: 1,
    sizes: &[
        (1, 42),
        (2, 10),
        (3, 3),
        (4, 11),
        (5, 2),
        (6, 2),
        (8, 11),
        (9, 1),
        (10, 1),
        (12, 2),
        (16, 11),
        (20, 1),
        (24, 1),
        (32, 8),
        (48, 1),
        (64, 3),
    ],
    groups: &[
        // The longest run.
        Group {
            at: 147_000,
            gap: 0,
            sizes: &[4],
            run_time: 64_860,
        },
        Group {
            at: 93_000,
            gap: 240,
            sizes: &[110, 110, 112, 128],
            run_time: 2_400,
        },
        Group {
            at: 266_000,
            gap: 180,
            sizes: &[128, 162, 120],
            run_time: 2_100,
        },
        Group {
            at: 352_000,
            gap: 300,
            sizes: &[128, 128, 128],
            run_time: 2_700,
        },
        // The burst near 9,000 s of Figure 7: "9 jobs each of which requires
        // 129 processors that arrive sequentially".
        Group {
            at: 537_000,
            gap: 180,
            sizes: &[129; 9],
            run_time: 8_400,
        },
    ],
    users: 60,
    hourly: &[
        3, 2, 2, 2, 2, 2, 3, 4, 7, 10, 12, 12, 10, 11, 12, 12, 11, 10, 8, 6, 5, 5, 4, 4,
    ],
    weekend_percent: 50,
};
