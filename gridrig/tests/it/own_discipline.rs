//! Disciplines of the user's own, and programs in Lua.

use crate::command::{
    Bench, JOBS, PAIR, expect_code, expect_part, expect_refused, json, ok, root, rows, run, stderr,
};
use gridrig::scenario::{Scenario, ScenarioText};
use gridrig_results::{JobTable, rundir};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A run of the shipped pair with this discipline in all clusters, and these policies.
fn pair(out: &Path, discipline: &str, policies: &str, more: &[&str]) -> String {
    let out = out.to_str().unwrap();
    let discipline = format!("domain.*.clusters.*.discipline={discipline}");
    let policies = format!("run.policies=[{policies}]");
    let mut words = vec!["run", "resources/scenarios/two-sites.toml", "--out", out];
    words.extend(["--set", &discipline, "--set", &policies]);
    words.extend(["--set", "run.bounds=false", "--force"]);
    words.extend(more);
    expect_code(&run(&words), 0);
    format!("{out}/two-sites-1")
}

fn bytes(run: &str, policy: &str, file: &str) -> Vec<u8> {
    fs::read(Path::new(run).join(policy).join("r000").join(file)).unwrap()
}

/// The pair with a program in Lua as its discipline.
fn lua(text: &str) -> Bench {
    let own = format!("clusters = [ {{ discipline = {{ name = \"mine\", lua = '''{text}''' }},");
    Bench::new(&PAIR.replace("clusters = [ {", &own), &JOBS)
}

#[test]
fn one_discipline_in_python_lua_and_rust_writes_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let fcfs_py = r#"{ name = "own", exec = ["python3", "resources/policies/fcfs.py"] }"#;
    let fcfs_lua = r#"{ name = "own", lua = "resources/policies/fcfs.lua" }"#;
    let easy_lua = r#"{ name = "own", lua = "resources/policies/easy_backfill.lua" }"#;
    let groups = [
        vec!["\"fcfs\"", fcfs_py, fcfs_lua],
        vec!["\"easy-backfill\"", easy_lua],
    ];
    let policy = "\"queue-length(tie=first)\"";
    let mut found = Vec::new();
    for group in &groups {
        let runs = group.iter().enumerate().map(|(index, discipline)| {
            let twice: &[&str] = if index == 0 {
                &[]
            } else {
                &["--check-determinism"]
            };
            pair(
                &dir.path().join(index.to_string()),
                discipline,
                policy,
                twice,
            )
        });
        let jobs = runs.map(|run| bytes(&run, "queue-length-tie-first-", "jobs.parquet"));
        let mut jobs: Vec<Vec<u8>> = jobs.collect();
        jobs.dedup();
        assert_eq!(jobs.len(), 1, "{group:?}");
        found.extend(jobs);
    }
    assert_ne!(found[0], found[1]);
}

#[test]
fn one_policy_in_python_lua_and_rust_writes_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let policies = r#""queue-length(tie=first)",
        { name = "python", exec = ["python3", "resources/policies/queue_length.py"] },
        { name = "lua", lua = "resources/policies/queue_length.lua" }"#;
    let all = pair(dir.path(), "\"fcfs\"", policies, &[]);
    for file in ["jobs.parquet", "hops.parquet", "events.parquet"] {
        let ours = bytes(&all, "queue-length-tie-first-", file);
        assert!(ours == bytes(&all, "python", file), "{file}");
        assert!(ours == bytes(&all, "lua", file), "{file}");
    }
    let manifest: Value = serde_json::from_slice(&bytes(&all, "lua", "manifest.json")).unwrap();
    let hash = &manifest["policy_sha256"]["resources/policies/queue_length.lua"];
    assert_eq!(hash.as_str().unwrap().len(), 64, "{manifest}");
}

/// Programs that answer badly, and what is said of it.
const BAD: &str = r#"
x = 1 => there is no function schedule
function schedule(pass) return 1 end => converting Lua integer
setmetatable({}, { __gc = print }) => there is no __gc
function schedule(pass) return pass.x.y end => attempt to index a nil value (field 'x')
function schedule(pass) return {} end => pass 1, at 0.001 s: nothing runs, job 0 fits and is not started
function schedule(pass) return { 999 } end => it starts job 999, which is not waiting or was named before
function schedule(pass) local job = pass.waiting[1].job return { job, job } end => it starts job 0, which is not waiting or was named before
function schedule(pass) return {}, pass.now_s end => it asks for a pass at 0.001 s
function schedule(pass) while true do end end => more than 500 million instructions
x = 'x' function schedule(pass) while true do x = x .. x end end => not enough memory
"#;

#[test]
fn a_program_in_lua_that_fails_ends_the_run_with_one_message() {
    for (program, said) in rows(BAD).chain([("function schedule(", "mine:1: ")]) {
        let output = lua(program).run(&[]);
        expect_code(&output, 1);
        let told = stderr(&output);
        let mut errors = told.lines().filter(|line| line.starts_with("error: "));
        let error = errors.next().unwrap();
        let of = "error: discipline mine of cluster a1: ";
        assert!(
            error.starts_with(of) && error.contains(said),
            "{program}: {told}"
        );
        assert_eq!(errors.next(), None, "{told}");
    }
}

#[test]
fn nothing_leads_out_of_a_program_in_lua_and_chance_is_that_of_the_seed() {
    let bench = lua(r#"
for _, name in ipairs({ "io", "os", "require", "load", "dofile", "debug", "package", "next",
                        "collectgarbage", "loadfile", "coroutine", "pcall", "xpcall" }) do
    if _G[name] ~= nil then error(name .. " is there") end
end
if string.dump then error("dump") end
local order = {}
for key in pairs({ b = 1, a = 2, [2] = 3, [1] = 4, c = 5 }) do order[#order + 1] = key end
if table.concat(order, " ") ~= "1 2 a b c" then error(table.concat(order, " ")) end
function schedule(pass)
    for place = #pass.waiting, 2, -1 do
        local other = math.random(place)
        pass.waiting[place], pass.waiting[other] = pass.waiting[other], pass.waiting[place]
    end
    local start = {}
    for place, job in ipairs(pass.waiting) do start[place] = job.job end
    return start
end
"#);
    let starts = |seed: &str| {
        expect_code(
            &bench.run(&["--check-determinism", "--force", "--set", seed]),
            0,
        );
        let out = bench.path(&format!("runs/s-{}/free-node/r000", &seed[9..]));
        let read = rundir::read(Path::new(&out)).unwrap();
        let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
        let starts = table.rows().iter().map(|row| row.start);
        starts.collect::<Vec<_>>()
    };
    let first = starts("run.seed=1");
    assert_eq!(starts("run.seed=1"), first);
    let others = (2..12).map(|seed| starts(&format!("run.seed={seed}")));
    assert!(others.into_iter().any(|other| other != first));
}

#[test]
fn answers_of_lua_that_differ_when_asked_twice_end_the_run() {
    let bench = lua("function schedule(pass)\n\
         local address = tonumber(tostring({}):match('0x(%x+)'), 16)\n\
         local all = {}\n\
         for place, job in ipairs(pass.waiting) do all[place] = job.job end\n\
         return all, pass.now_s + 1 + address % 1000003 / 1000003\n\
         end");
    let output = bench.run(&["--check-determinism"]);
    expect_code(&output, 1);
    let why = stderr(&output);
    assert!(why.contains("asked twice it gave two answers"), "{why}");
}

#[test]
fn what_does_not_fit_waits_and_a_pass_comes_when_it_is_asked_for() {
    // Whatever waits is started, in the order of size, every 10 s.
    let bench = lua("function schedule(pass)\n\
         local next_pass = (pass.now_s // 10 + 1) * 10\n\
         if pass.now_s % 10 ~= 0 then return {}, next_pass end\n\
         table.sort(pass.waiting, function(a, b) return a.processors > b.processors end)\n\
         local all = {}\n\
         for place, job in ipairs(pass.waiting) do all[place] = job.job end\n\
         return all, next_pass\n\
         end");
    expect_code(&bench.run(&[]), 0);
    let read = rundir::read(Path::new(&bench.path("runs/s-1/free-node/r000"))).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    for row in table.rows() {
        let start = row.start.unwrap().as_nanos();
        assert_eq!(start % 10_000_000_000, 0, "{start}");
    }
}

#[test]
fn decisions_take_as_long_as_is_said() {
    let text = fs::read_to_string(root().join("resources/policies/fcfs.lua")).unwrap();
    let bench = lua(&text);
    let file = fs::read_to_string(bench.path("s.toml")).unwrap();
    let chooses = "function choose(cycle) local all = {} \
                   for place in ipairs(cycle.requests) do all[place] = 0 end return all end";
    // 3 s each in the cluster, and 7 s in the broker, which looks every 5 s.
    let file = file.replace("name = \"mine\"", "decision_time = \"3s\", name = \"mine\"");
    let own = format!("{{ name = \"q\", decision_time = \"7s\", lua = \"{chooses}\" }}");
    let file = file.replace("\"round-robin\", \"free-node\"", &own);
    fs::write(bench.path("s.toml"), file).unwrap();
    expect_code(&bench.run(&["--check-determinism"]), 0);
    let read = rundir::read(Path::new(&bench.path("runs/s-1/q/r000"))).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let starts = table
        .rows()
        .iter()
        .map(|row| row.start.unwrap().as_secs_f64().round());
    // Jobs 1 to 4 have come after the first question, whose answer is known in the cycle of
    // 10 s; theirs is known in that of 25 s. Job 0 runs from 13 s to 43 s, 1 and 2 start then
    // by what was decided at once, and 3 and 4 one after the other.
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [13.0, 46.0, 46.0, 69.0, 69.0, 112.0]
    );
    let measured = lua(&text);
    let file = fs::read_to_string(measured.path("s.toml")).unwrap();
    let own = "decision_time = \"measured\", name = \"mine\"";
    fs::write(
        measured.path("s.toml"),
        file.replace("name = \"mine\"", own),
    )
    .unwrap();
    expect_code(&measured.run(&[]), 0);
    let read = rundir::read(Path::new(&measured.path("runs/s-1/free-node/r000"))).unwrap();
    let table = JobTable::build(&read.log, &read.submissions, &read.grid, &[]);
    let first = table.rows()[0].start.unwrap().as_nanos();
    // The job is there at 1 ms.
    assert!(
        first > 1_000_000 && !first.is_multiple_of(1_000_000),
        "{first}"
    );
}

#[test]
fn a_discipline_of_ones_own_works_in_real_time_beside_failing_nodes() {
    let bench = lua(&fs::read_to_string(root().join("resources/policies/fcfs.lua")).unwrap());
    let text = fs::read_to_string(bench.path("s.toml")).unwrap();
    let text = text.replace(
        "clusters = [ {",
        "clusters = [ { outages = [{ from = \"30s\", until = \"60s\" }],",
    );
    fs::write(bench.path("s.toml"), text).unwrap();
    for clock in [
        &["--set", "run.clock=virtual"][..],
        &["--clock", "real", "--set", "run.speed=40"],
    ] {
        let more = ["--json", "--force", "--set", "run.lag_tolerance=1h"];
        let output = ok(bench.run(&[clock, &more].concat()));
        assert_eq!(json(&output)["runs"][0]["jobs"]["completed"], 6);
    }
    let refused = bench.run(&["--clock", "real", "--processes"]);
    expect_refused(&refused, "no policy or discipline of one's own");
}

#[test]
fn what_no_program_of_a_discipline_can_be_is_refused_before_the_run() {
    let own = |written: &str| {
        PAIR.replace(
            "clusters = [ {",
            &format!("clusters = [ {{ discipline = {written},"),
        )
    };
    for (written, expected) in rows(
        r#"
            "fifo" => expected a discipline
            7 => expected a discipline
            { name = "fcfs", lua = "x = 1" } => a name of its own, which fcfs is not
            { name = "m", lua = "no.lua" } => no.lua
            { name = "m", lua = "x = 1", exec = ["a"] } => expected one of them
            { name = "m", lua = "x = 1", timeout = "1s" } => beside exec
            { name = "m", lua = "x = 1", slurm = 1 } => unknown field `slurm`
            "#,
    ) {
        let text = own(written);
        let output = run(&["check", &Bench::new(&text, &JOBS).path("s.toml")]);
        expect_code(&output, 2);
        let why = stderr(&output);
        assert!(
            why.contains(expected) && why.contains("discipline"),
            "{text}\n{why}"
        );
    }
    let bench = lua("x = 1");
    let (file, text) = (
        bench.path("s.toml"),
        fs::read_to_string(bench.path("s.toml")).unwrap(),
    );
    let text = ScenarioText {
        file: Path::new(&file),
        text: &text,
        sets: &[],
        directory: Path::new(""),
        traces_may_be_missing: false,
    };
    let why = Scenario::parse_confined(&text, Some(&|_| true))
        .unwrap_err()
        .to_string();
    expect_part(&why, "expected no program");
    expect_part(&why, "--allow-commands");
}

#[test]
fn the_page_shows_the_programs_of_disciplines_and_in_lua_that_are_shipped() {
    let page = fs::read_to_string(root().join("docs/own-policy.md")).unwrap();
    for name in ["queue_length.lua", "fcfs.lua", "fcfs.py"] {
        let program = fs::read_to_string(root().join("resources/policies").join(name)).unwrap();
        assert!(page.contains(&program), "{name}");
    }
}
