//! Jobs that are to start within a window, at clusters that reserve processors for them.

use super::{Scenario, millis, once_in, pick};
use gridrig_core::cluster::{Overrun, Reserving};
use gridrig_core::job::StartWindow;
use gridrig_core::rng;
use gridrig_core::time::Decimal;

/// The same with jobs of which every second is to start within a window; two clusters in
/// three reserve processors.
pub fn with_windows(mut scenario: Scenario) -> Scenario {
    let mut rng = rng::stream(scenario.seed, "scenario.windows");
    for cluster in &mut scenario.grid.clusters {
        let share = pick(&mut rng, &["1", "1", "0.5"]);
        cluster.config.reserving = (!once_in(&mut rng, 3)).then(|| Reserving {
            overrun: pick(&mut rng, Overrun::ALL),
            most_share: Decimal::parse(share).unwrap_or(Decimal::ONE),
            longest: None,
            most_ahead: None,
        });
    }
    for submission in &mut scenario.submissions {
        let notice = millis(pick(&mut rng, &[0, 250, 3_000, 30_000]));
        let length = millis(pick(&mut rng, &[0, 250, 2_000, 20_000, 60_000]));
        let flexible = once_in(&mut rng, 2);
        if once_in(&mut rng, 2) {
            let earliest = submission.at + notice;
            submission.spec.start_window = Some(Box::new(StartWindow {
                earliest,
                latest: earliest + length,
                flexible,
            }));
        }
    }
    scenario
}
