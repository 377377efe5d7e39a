//! Runs random grids under random plans of faults: `scripts/fault-plans --help`.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it tells what it has found, and now and then how far it has come"
)]

use gridrig_simtest::table::Table;
use gridrig_simtest::{faults, minimal, services};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two lines that say how far it has come.
const TELL: Duration = Duration::from_secs(60);

/// Words: the first seed, the number of plans, how many at a time, and how often each
/// cell of the table has to be met.
fn main() -> ExitCode {
    let words = std::env::args().skip(1).map(|word| word.parse().ok());
    let Some([first, plans, at_a_time, least]) = words
        .collect::<Option<Vec<u64>>>()
        .and_then(|words| <[u64; 4]>::try_from(words).ok())
    else {
        eprintln!("fault-plans: expected SEED PLANS AT-A-TIME LEAST, as scripts/fault-plans gives");
        return ExitCode::from(2);
    };
    println!("{plans} plans from seed {first}, {at_a_time} at a time");
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let work = || {
        let (mut table, mut told) = (Table::default(), 1);
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= plans {
                break;
            }
            let seed = first + index;
            if let Err(why) = catch_unwind(AssertUnwindSafe(|| one(seed, &mut table))) {
                failed.store(true, Ordering::Relaxed);
                return Err((seed, said(why)));
            }
            if begun.elapsed() > TELL * told {
                told += 1;
                println!("{index} plans after {} s", begun.elapsed().as_secs());
            }
        }
        Ok(table)
    };
    let mut table = Table::default();
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.expect("it catches panics"))
            .collect()
    });
    for result in results {
        match result {
            Ok(part) => table.add(&part),
            Err((seed, why)) => {
                println!(
                    "{why}\nVIOLATION at seed {seed}; again: scripts/fault-plans --seed {seed} 1"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{table}{} plans, 0 violations, {} s",
        table.plans(),
        begun.elapsed().as_secs()
    );
    let too_little = table.too_little(least);
    for what in &too_little {
        println!("too little: {what}");
    }
    match too_little.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn one(seed: u64, table: &mut Table) {
    let (scenario, plan) = faults::of_several_kinds(seed);
    let ran = minimal::checked(&scenario, &plan, |scenario, plan| {
        let ran = services::run(scenario, plan);
        services::check(scenario, plan, &ran);
        ran
    });
    table.count(&plan, &ran);
}

fn said(panic: Box<dyn Any + Send>) -> String {
    panic
        .downcast::<String>()
        .map_or_else(|_| String::new(), |text| *text)
}
