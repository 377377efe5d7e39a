//! Plans of several kinds of faults at once, as `scripts/fault-plans` runs them.

use gridrig_simtest::faults::of_several_kinds;
use gridrig_simtest::minimal::checked;
use gridrig_simtest::services;
use gridrig_simtest::table::Table;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const PLANS: u64 = 60;

/// A job was called back whose data somebody else had sent. Then releases that were said
/// when a broker stopped, and domains that were never sent a job again.
const ONCE_WRONG: [u64; 5] = [
    1_795_764_609_441_915,
    1_795_764_215_433_837,
    1_795_764_309_927_507,
    27_596,
    77_192,
];

#[test]
fn every_job_ends_once_under_faults_of_several_kinds() {
    let mut table = Table::default();
    for seed in crate::scenarios(PLANS).chain(ONCE_WRONG) {
        let (scenario, plan) = of_several_kinds(seed);
        let ran = checked(&scenario, &plan, |scenario, plan| {
            let ran = services::run(scenario, plan);
            services::check(scenario, plan, &ran);
            ran
        });
        table.count(&plan, &ran);
    }
    if table.plans() >= PLANS {
        assert_eq!(table.too_little(0), Vec::<String>::new(), "{table}");
    }
}
