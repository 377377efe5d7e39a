//! What programs of the user's cost, as ratios taken in one run (docs/own-policy.md).
//!
//! Disciplines in Lua beside the same in Rust, by whole runs of the virtual driver on the
//! same jobs; and gridrig's own share of a question to a program beside what a bare echo
//! of the same line of JSON costs over a pipe.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark"
)]

use gridrig::own_policy;
use gridrig::scenario::{Scenario, ScenarioText};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::{Entry, JobLabel, JobSpec, Submission};
use gridrig_core::policy::PolicySpec;
use gridrig_core::rng;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::virtual_time::{Options, run};
use gridrig_results::EventLog;
use rand::{Rng as _, RngExt as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// As in the command.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const ROUNDS: usize = 5;
const JOBS: u32 = 100_000;
/// Jobs of the other part, nearly as many questions.
const QUESTIONS: usize = 20_000;
const PROCESSORS: u32 = 225;
/// A discipline in Lua takes at most so many times as long.
const MOST_OF_LUA: f64 = 10.0;
/// Our own share of a question, beside an echo.
const MOST_OF_ECHO: f64 = 0.5;

/// As much as any program in Python has to do.
const ECHO: &str = "import json, sys\nfor line in sys.stdin:\n    \
                    print(json.dumps(json.loads(line)), flush=True)\n";

/// One cluster; the jobs are others.
const CLUSTER: &str = r#"
workload = { trace = "traces/ctc-like.swf.gz" }
cluster = { processors = 225 }
run = { clock = "virtual" }
"#;

fn main() {
    std::env::set_current_dir(ROOT).expect("the checkout");
    let jobs = workload();
    println!("discipline        Rust s    Lua s  times    (at most {MOST_OF_LUA} on {JOBS} jobs)");
    let mut missed = false;
    for (name, file) in [("fcfs", "fcfs"), ("easy-backfill", "easy_backfill")] {
        let lua = format!("{{ name = \"own\", lua = \"resources/policies/{file}.lua\" }}");
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (side, discipline) in [format!("\"{name}\""), lua.clone()].iter().enumerate() {
                let set = format!("cluster.discipline={discipline}");
                let scenario = parse(CLUSTER, &[set]);
                seconds[side].push(time(&scenario, None, &jobs).0);
            }
        }
        let [rust, lua] = seconds.map(median);
        let times = lua / rust;
        println!("{name:<14} {rust:>9.3} {lua:>8.3} {times:>6.1}");
        missed |= times > MOST_OF_LUA;
    }
    if share_of_a_question() > MOST_OF_ECHO || missed {
        println!("own_programs: an aim is missed");
        std::process::exit(1);
    }
}

/// Our own share of a question to a program of a broker, as a part of an echo of a line
/// of the same length.
fn share_of_a_question() -> f64 {
    let text = std::fs::read_to_string("resources/scenarios/two-sites.toml").expect("shipped");
    let own = r#"run.policies=["queue-length(tie=first)", { name = "own", exec = ["python3", "resources/policies/queue_length.py"] }]"#;
    let sets = [own, "run.bounds=false"];
    let scenario = parse(&text, &sets.map(str::to_owned));
    // As many as that neither the start nor the end of a program counts.
    let mut jobs = workload();
    jobs.truncate(QUESTIONS);
    for job in &mut jobs {
        job.entry = Entry::Domain(DomainId(0));
    }
    let mut ours = Vec::new();
    let mut echoes = Vec::new();
    for _ in 0..ROUNDS {
        let built_in = time(&scenario, scenario.policies[0].as_ref(), &jobs).0;
        let (whole, (lines, waited)) = time(&scenario, scenario.policies[1].as_ref(), &jobs);
        ours.push((whole - built_in - waited) / lines as f64);
        echoes.push(echo(lines));
    }
    let (ours, echo) = (median(ours), median(echoes));
    println!(
        "a question: {:.1} us of ours, an echo {:.1} us: {:.2} of it (at most {MOST_OF_ECHO})",
        ours * 1e6,
        echo * 1e6,
        ours / echo
    );
    ours / echo
}

/// Seconds for one line of JSON to a program and back.
fn echo(lines: u64) -> f64 {
    let line = r#"{"cycle":1000,"now_s":5000.0,"requests":[{"job":1000,"processors":4,"estimate_s":30.0,"candidates":[0,1]}],"candidates":{"queued_30s":[0,0]},"ended":[{"job":998,"candidate":1,"state":"completed","start_s":1.0,"finish_s":3.0}]}"#;
    let mut child = Command::new("python3")
        .args(["-c", ECHO])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let (mut to, from) = (child.stdin.take(), child.stdout.take());
    let (to, mut from) = (
        to.as_mut().expect("a pipe"),
        BufReader::new(from.expect("a pipe")),
    );
    let mut answer = String::new();
    let mut ask = || {
        // It has to be written and read by us, too.
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let mut text = serde_json::to_string(&value).expect("JSON");
        text.push('\n');
        to.write_all(text.as_bytes()).expect("it reads");
        answer.clear();
        from.read_line(&mut answer).expect("it answers");
        std::hint::black_box(serde_json::from_str::<serde_json::Value>(&answer).expect("JSON"));
    };
    ask();
    let begin = Instant::now();
    (0..lines).for_each(|_| ask());
    let seconds = begin.elapsed().as_secs_f64() / lines as f64;
    child.kill().expect("it runs");
    child.wait().expect("it ran");
    seconds
}

fn parse(text: &str, sets: &[String]) -> Scenario {
    let text = ScenarioText {
        file: Path::new("resources/scenarios/bench.toml"),
        text,
        sets,
        directory: Path::new(""),
        traces_may_be_missing: false,
    };
    Scenario::parse(&text).expect("a scenario")
}

/// Seconds of a run, and what was asked of programs meanwhile.
fn time(
    scenario: &Scenario,
    policy: Option<&PolicySpec>,
    jobs: &[Submission],
) -> (f64, (u64, f64)) {
    let mut grid = scenario.grid_for(policy);
    let own = own_policy::start(scenario, policy, &mut grid, false).expect("programs");
    // Programs have begun by now, and been greeted.
    let asked = || own.as_ref().map_or((0, 0.0), |own| own.asked());
    let (greeted, waited) = asked();
    let begin = Instant::now();
    let mut log = EventLog::default();
    let go_on = |_, _| ControlFlow::Continue(());
    let outcome = run(&grid, jobs, &Options::default(), &mut log, go_on);
    let seconds = begin.elapsed().as_secs_f64();
    assert_eq!(outcome.ended, jobs.len());
    let (lines, whole) = asked();
    (seconds, (lines - greeted, whole - waited))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Mean size about 14 and mean run time about 1 h, arrivals for 80 % load, estimates of
/// twice the run time.
fn workload() -> Vec<Submission> {
    let mut rng = rng::stream(1, "bench");
    let mut at = 0.0;
    (0..JOBS)
        .map(|id| {
            let size = match rng.next_u32() % 8 {
                0..3 => 1,
                3..6 => 1 << (rng.next_u32() % 5),
                6 => rng.random_range(1..=32),
                _ => rng.random_range(16..=160),
            };
            let run_time = SimDuration::from_secs(rng.random_range(1..7_200));
            at += 3_600.0 * 15.4 / (f64::from(PROCESSORS) * 0.8) * rng.random_range(0.0..2.0);
            Submission {
                spec: JobSpec {
                    requested_time: Some(run_time + run_time),
                    ..JobSpec::rigid(JobId(id), size, run_time)
                },
                at: SimTime::from_nanos((at * 1e9) as u64),
                entry: Entry::Cluster(ClusterId(0)),
                label: JobLabel::default(),
            }
        })
        .collect()
}
