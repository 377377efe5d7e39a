//! Plans of several kinds of faults at once, as `scripts/fault-plans` runs them.

use gridrig_simtest::faults::of_several_kinds;
use gridrig_simtest::minimal::checked;
use gridrig_simtest::services;
use gridrig_simtest::table::Table;

/// Every run of the tests tries these; `GRIDRIG_SCENARIOS` asks for more.
const PLANS: u64 = 60;

#[test]
fn every_job_ends_once_under_faults_of_several_kinds() {
    let mut table = Table::default();
    for seed in crate::scenarios(PLANS) {
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
